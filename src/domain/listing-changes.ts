import { toFailure } from '../errors/catalog.js'
import { EXPECTED_FIELD_VALUE } from '../errors/phrases.js'
import { type Problem, ProblemError } from '../errors/problem.js'
import { suggestName } from '../errors/suggest.js'
import { type Entity, type Field, getEntity, getScalar, type Scalar } from '../model/model.js'
import { type Expr, isFalse, isTrue } from '../query/plan.js'
import type { Actor } from './actor.js'
import { pointConflict, readPosition } from './geo-point.js'
import type { JsonObject, JsonValue } from './json.js'
import { INITIAL_STATUS, isStatus, type ListingStatus } from './lifecycle.js'
import {
  describeJson,
  type FieldValue,
  invalidValue,
  type ReadResult,
  readFieldValue,
  type Values,
} from './values.js'

/**
 * `create` makes a new record. `change` writes the fields that the body names. `replace` writes every field
 * and clears those that the body omits and the token can read.
 */
export type WriteMode = 'create' | 'change' | 'replace'

/** A fault and the name of its member in the body, or of the missing field. */
export interface FieldFault {
  readonly at: string
  readonly problem: Problem
}

/**
 * The changes that a body requests. If there are faults, the other members contain the valid part of the
 * body.
 */
export interface ListingChanges {
  /** Values to store in fields that clients write, without StandardStatus. */
  readonly values: Values
  /** The requested StandardStatus. */
  readonly status?: ListingStatus
  /** Fields that `replace` clears only if a condition holds for the stored record. */
  readonly clears: ReadonlyMap<string, Expr>
  readonly faults: readonly FieldFault[]
}

/** Changes nothing. */
export const NO_CHANGES: ListingChanges = { values: {}, clears: new Map(), faults: [] }

/** Converts the error of a body that is not JSON. Other errors, such as a body that is too large, are thrown. */
export function toUnreadableChanges(error: unknown): ListingChanges {
  if (!(error instanceof ProblemError) || toFailure(error.problems).status !== 400) throw error
  return { ...NO_CHANGES, faults: error.problems.map(problem => ({ at: '', problem })) }
}

/** Data other than the model that reading a body depends on. */
export interface WriteContext {
  readonly actor: Actor
  /** Returns the condition under which the actor can read a field of the stored record. */
  readonly readableIf: (field: Scalar) => Expr
  /** Returns the values that a lookup allows, or undefined if the lookup allows any text. */
  readonly lookupValues: (name: string) => ReadonlySet<string> | undefined
}

const PROPERTY = getEntity('Property')
const STATUS = getScalar(PROPERTY, 'StandardStatus')
const CHANGED_BY = getScalar(PROPERTY, 'ChangedByMemberKey')
/** Fields that clients write without a conversion. */
const WRITABLE_FIELDS: ReadonlySet<Scalar> = new Set(
  PROPERTY.scalars.filter(s => s.setBy === 'client' && !s.generated && s !== STATUS && s !== PROPERTY.key),
)
/** Maximum number of faults in one response. */
const MAX_FAULTS = 200

/**
 * Reads the body of a write against the model, without I/O. Finds every fault up to `MAX_FAULTS`, in the
 * order of the body. Missing fields follow in the order of the model. References and the status transition
 * depend on the stored record: the rules of write-rules.ts check them.
 */
export function readListingChanges(body: JsonObject, mode: WriteMode, context: WriteContext): ListingChanges {
  const reader = new BodyReader(body, mode, context)
  for (const [name, json] of Object.entries(body)) reader.readMember(name, json)
  return reader.finish()
}

class BodyReader {
  readonly #values: Record<string, FieldValue> = {}
  readonly #clears = new Map<string, Expr>()
  readonly #faults: FieldFault[] = []
  #status: ListingStatus | undefined
  #position: { readonly field: Scalar; readonly values: Values } | undefined

  constructor(
    private readonly body: JsonObject,
    private readonly mode: WriteMode,
    private readonly context: WriteContext,
  ) {}

  /**
   * Reads one member of the body. Ignores control information and fields that the service sets.
   */
  readMember(name: string, json: JsonValue): void {
    if (this.#faults.length >= MAX_FAULTS) return
    const [target = '', annotation] = name.split('@', 2)
    const field = PROPERTY.fields.get(target)
    if (annotation === undefined) this.#readField(name, field, json)
    // OData JSON 4.01, 8.5: `Navigation@bind`, in 4.0 `Navigation@odata.bind`.
    else if (target !== '' && /^(odata\.)?bind$/.test(annotation))
      this.#addFault(
        name,
        field ? { kind: 'NotWritable', field: target } : unknownFieldProblem(PROPERTY, target),
      )
  }

  finish(): ListingChanges {
    if (this.#position) this.#setPosition(this.#position.field, this.#position.values)
    if (this.mode !== 'change') for (const field of WRITABLE_FIELDS) this.#handleMissing(field)
    this.#setChangedBy()
    return {
      values: this.#values,
      clears: this.#clears,
      faults: this.#faults,
      ...(this.#status !== undefined && { status: this.#status }),
    }
  }

  #readField(name: string, field: Field | undefined, json: JsonValue): void {
    if (!field) this.#addFault(name, unknownFieldProblem(PROPERTY, name))
    else if (field.kind === 'navigation') this.#addFault(name, { kind: 'NotWritable', field: name })
    else if (field === STATUS) this.#readStatus(json)
    else if (field.type === 'GeographyPoint')
      this.#accept(field, readPosition(field, json), values => (this.#position = { field, values }))
    else if (WRITABLE_FIELDS.has(field))
      this.#accept(field, this.#readValue(field, json), value => (this.#values[name] = value))
  }

  #readValue(field: Scalar, json: JsonValue): ReadResult {
    if (field.required && isEmpty(json)) return { problem: { kind: 'RequiredMissing', field: field.name } }
    if (json === null) return { value: emptyValue(field) }
    const outcome = readFieldValue(field, json)
    return 'problem' in outcome ? outcome : this.#checkLookup(field, outcome.value)
  }

  #checkLookup(field: Scalar, value: FieldValue): ReadResult {
    const known = field.lookup && this.context.lookupValues(field.lookup.name)
    const wrong = known && [value].flat().find(item => typeof item === 'string' && !known.has(item))
    return wrong === undefined
      ? { value }
      : { problem: { kind: 'NotInLookup', field: field.name, value: String(wrong) } }
  }

  /** Reads StandardStatus. The status of a new record is fixed. */
  #readStatus(json: JsonValue): void {
    const creating = this.mode === 'create'
    if (creating && (json === null || json === INITIAL_STATUS)) return
    const text = typeof json === 'string' ? json : describeJson(json)
    if (typeof json !== 'string' || !isStatus(text))
      this.#addFault(STATUS.name, { kind: 'NotInLookup', field: STATUS.name, value: text })
    else if (creating)
      this.#addFault(STATUS.name, { kind: 'TransitionNotAllowed', to: text, allowed: [INITIAL_STATUS] })
    else this.#status = text
  }

  #setPosition(field: Scalar, position: Values): void {
    const problem = pointConflict(field, position, this.#values, this.body[field.name] ?? null)
    if (problem) this.#addFault(field.name, problem)
    Object.assign(this.#values, position)
  }

  /**
   * Handles a field that the body omits: it is required, or `replace` clears it. A field that the actor cannot
   * read is not cleared.
   */
  #handleMissing(field: Scalar): void {
    if (field.name in this.body || field.name in this.#values) return
    if (field.required) this.#addFault(field.name, { kind: 'RequiredMissing', field: field.name })
    else if (this.mode === 'replace') this.#clear(field, this.context.readableIf(field))
  }

  #clear(field: Scalar, readable: Expr): void {
    if (isTrue(readable)) this.#values[field.name] = emptyValue(field)
    else if (!isFalse(readable)) this.#clears.set(field.name, readable)
  }

  /**
   * Sets ChangedByMemberKey to the member of the token. A token that may write any listing may name another
   * member.
   */
  #setChangedBy(): void {
    const { name } = CHANGED_BY
    if (this.#faults.some(f => f.at === name)) return
    const { memberKey, scopes } = this.context.actor
    const requested = isEmpty(this.body[name] ?? null) ? undefined : this.#values[name]
    const member = requested ?? memberKey
    if (member !== undefined) this.#values[name] = member
    else if (this.mode !== 'create') this.#addFault(name, { kind: 'RequiredMissing', field: name })
    if (memberKey !== undefined && member !== memberKey && !scopes.has('listings:write:any'))
      this.#addFault(
        name,
        invalidValue(CHANGED_BY, EXPECTED_FIELD_VALUE.memberOfToken, describeJson(String(member))).problem,
      )
  }

  #accept<T>(field: Scalar, outcome: ReadResult<T>, store: (value: T) => void): void {
    if ('problem' in outcome) this.#addFault(field.name, outcome.problem)
    else store(outcome.value)
  }

  #addFault(at: string, problem: Problem): void {
    this.#faults.push({ at, problem })
  }
}

/** Returns the problem of a body with a field that the entity does not have. */
export function unknownFieldProblem(of: Entity, field: string): Problem {
  const suggestion = suggestName(field, of.fields.keys())
  return {
    kind: 'UnknownBodyField',
    entity: of.name,
    field,
    ...(suggestion !== undefined && { suggestion }),
  }
}

const isEmpty = (json: JsonValue) => json === null || (typeof json === 'string' && json.trim() === '')

/** Returns the value that clears a field. Collections are never null. */
const emptyValue = (field: Scalar): FieldValue => (field.collection ? [] : null)

/**
 * Sorts the faults in the order of the body. Faults of members that are not in the body follow in the order
 * of the model.
 */
export function sortFaults(faults: readonly FieldFault[], body: JsonObject): readonly Problem[] {
  if (faults.length < 2) return faults.map(f => f.problem)
  const order = new Map(
    [...new Set([...Object.keys(body), ...PROPERTY.fields.keys()])].map((name, i) => [name, i]),
  )
  return [...faults].sort((a, b) => (order.get(a.at) ?? 0) - (order.get(b.at) ?? 0)).map(f => f.problem)
}
