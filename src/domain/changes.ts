import type { Problem } from '../errors/problem.js'
import { type Field, getEntity, getScalar, type Scalar } from '../model/model.js'
import { suggestName } from '../query/suggest.js'
import type { Actor } from './actor.js'
import { pointConflict, readPosition } from './geo-point.js'
import type { JsonObject, JsonValue } from './json.js'
import { DRAFT, isStatus, type ListingStatus } from './lifecycle.js'
import {
  badValue,
  describeJson,
  type FieldValue,
  type ReadResult,
  readFieldValue,
  type Values,
} from './values.js'

/**
 * `create`: a new record; `change`: what the body names; `replace`: every field, what the body leaves out is
 * emptied.
 */
export type WriteMode = 'create' | 'change' | 'replace'

/** A fault, and the member of the body where it stands (or the field that is missing there). */
export interface FieldFault {
  readonly at: string
  readonly problem: Problem
}

/** What a body asks for. If there are faults, the rest is what could be read beside them. */
export interface ListingChanges {
  /** Fields of clients as they are to be stored, StandardStatus aside. */
  readonly values: Values
  /** The StandardStatus asked for. */
  readonly status?: ListingStatus
  readonly faults: readonly FieldFault[]
}

/** What reading a body depends on beside the model. */
export interface WriteContext {
  readonly actor: Actor
  /** The values a lookup is held to; undefined: any text will do. */
  readonly lookupValues: (name: string) => ReadonlySet<string> | undefined
}

const PROPERTY = getEntity('Property')
const STATUS = getScalar(PROPERTY, 'StandardStatus')
const CHANGED_BY = getScalar(PROPERTY, 'ChangedByMemberKey')
/** Fields that clients write as they are. */
const WRITABLE_FIELDS: ReadonlySet<Scalar> = new Set(
  PROPERTY.scalars.filter(s => s.setBy === 'client' && !s.generated && s !== STATUS && s !== PROPERTY.key),
)
/** A body of garbage is not answered with an endless list. */
const MAX_FAULTS = 200

/**
 * Reads the body of a write against the model, without I/O. Every fault is found (up to 200), in the order of
 * the body, what is missing behind that in the order of the model. References and the change of status are
 * looked at when the stored record is known: `judge`.
 */
export function readChanges(body: JsonObject, mode: WriteMode, context: WriteContext): ListingChanges {
  const reader = new BodyReader(body, mode, context)
  for (const [name, json] of Object.entries(body)) reader.readMember(name, json)
  return reader.finish()
}

class BodyReader {
  readonly #values: Record<string, FieldValue> = {}
  readonly #faults: FieldFault[] = []
  #status: ListingStatus | undefined
  #position: { readonly field: Scalar; readonly values: Values } | undefined

  constructor(
    private readonly body: JsonObject,
    private readonly mode: WriteMode,
    private readonly context: WriteContext,
  ) {}

  /**
   * One member of the body. Control information and what the service sets itself is ignored (decisions 4).
   */
  readMember(name: string, json: JsonValue): void {
    if (this.#faults.length >= MAX_FAULTS) return
    const [target = '', annotation] = name.split('@', 2)
    const field = PROPERTY.fields.get(target)
    if (annotation === undefined) this.#readField(name, field, json)
    // OData JSON 4.01, 8.5: `Navigation@bind`, in 4.0 `Navigation@odata.bind`.
    else if (target !== '' && /^(odata\.)?bind$/.test(annotation))
      this.#addFault(name, field ? { kind: 'NotWritable', field: target } : unknownFieldProblem(target))
  }

  finish(): ListingChanges {
    if (this.#position) this.#setPosition(this.#position.field, this.#position.values)
    if (this.mode !== 'change') for (const field of WRITABLE_FIELDS) this.#handleMissing(field)
    this.#setChangedBy()
    return {
      values: this.#values,
      faults: this.#faults,
      ...(this.#status !== undefined && { status: this.#status }),
    }
  }

  #readField(name: string, field: Field | undefined, json: JsonValue): void {
    if (!field) this.#addFault(name, unknownFieldProblem(name))
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

  /** A new record has no choice: the service sets its status. */
  #readStatus(json: JsonValue): void {
    const creating = this.mode === 'create'
    if (creating && (json === null || json === DRAFT)) return
    const text = typeof json === 'string' ? json : describeJson(json)
    if (typeof json !== 'string' || !isStatus(text))
      this.#addFault(STATUS.name, { kind: 'NotInLookup', field: STATUS.name, value: text })
    else if (creating)
      this.#addFault(STATUS.name, { kind: 'TransitionNotAllowed', from: 'no record', to: text })
    else this.#status = text
  }

  #setPosition(field: Scalar, position: Values): void {
    const problem = pointConflict(field, position, this.#values, this.body[field.name] ?? null)
    if (problem) this.#addFault(field.name, problem)
    Object.assign(this.#values, position)
  }

  /** A field that a whole record must have, or that is empty in it. */
  #handleMissing(field: Scalar): void {
    if (field.name in this.body || field.name in this.#values) return
    if (field.required) this.#addFault(field.name, { kind: 'RequiredMissing', field: field.name })
    else if (this.mode === 'replace') this.#values[field.name] = emptyValue(field)
  }

  /** Who changes the record: the member of the token, unless the token may write for any (decisions 4). */
  #setChangedBy(): void {
    const { name } = CHANGED_BY
    if (this.#faults.some(f => f.at === name)) return
    const { memberKey, scopes } = this.context.actor
    const asked = isEmpty(this.body[name] ?? null) ? undefined : this.#values[name]
    const member = asked ?? memberKey
    if (member !== undefined) this.#values[name] = member
    else if (this.mode !== 'create') this.#addFault(name, { kind: 'RequiredMissing', field: name })
    if (memberKey !== undefined && member !== memberKey && !scopes.has('listings:write:any'))
      this.#addFault(
        name,
        badValue(CHANGED_BY, 'the member whom the token names', `'${String(member)}'`).problem,
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

function unknownFieldProblem(field: string): Problem {
  const suggestion = suggestName(field, PROPERTY.fields.keys())
  return {
    kind: 'UnknownBodyField',
    entity: PROPERTY.name,
    field,
    ...(suggestion !== undefined && { suggestion }),
  }
}

const isEmpty = (json: JsonValue) => json === null || (typeof json === 'string' && json.trim() === '')

/** Collections are never null. */
const emptyValue = (field: Scalar): FieldValue => (field.collection ? [] : null)

/** The faults in the order of the body, what it does not hold behind that in the order of the model. */
export function sortFaults(faults: readonly FieldFault[], body: JsonObject): readonly Problem[] {
  if (faults.length < 2) return faults.map(f => f.problem)
  const order = new Map(
    [...new Set([...Object.keys(body), ...PROPERTY.fields.keys()])].map((name, i) => [name, i]),
  )
  return [...faults].sort((a, b) => (order.get(a.at) ?? 0) - (order.get(b.at) ?? 0)).map(f => f.problem)
}
