import type { Problem } from '../errors/problem.js'
import { entity, type Field, type Scalar, scalar } from '../model/model.js'
import { suggest } from '../query/suggest.js'
import type { Actor } from './actor.js'
import { disagreement, readPosition } from './geo-point.js'
import type { JsonObject, JsonValue } from './json.js'
import { DRAFT, isStatus, type Status } from './lifecycle.js'
import { bad, describe, type FieldValue, type Outcome, readValue, type Values } from './values.js'

/**
 * `create`: a new record; `change`: what the body names; `replace`: every field, what the body leaves out is
 * emptied.
 */
export type Mode = 'create' | 'change' | 'replace'

/** A fault, and the member of the body where it stands (or the field that is missing there). */
export interface Fault {
  readonly at: string
  readonly problem: Problem
}

/** What a body asks for. If there are faults, the rest is what could be read beside them. */
export interface Changes {
  /** Fields of clients as they are to be stored, StandardStatus aside. */
  readonly values: Values
  /** The StandardStatus asked for. */
  readonly status?: Status
  readonly faults: readonly Fault[]
}

/** What reading a body depends on beside the model. */
export interface Rules {
  readonly actor: Actor
  /** The values a lookup is held to; undefined: any text will do. */
  readonly lookup: (name: string) => ReadonlySet<string> | undefined
}

const PROPERTY = entity('Property')
const STATUS = scalar(PROPERTY, 'StandardStatus')
const CHANGED_BY = scalar(PROPERTY, 'ChangedByMemberKey')
/** Fields that clients write as they are. */
const WRITABLE: ReadonlySet<Scalar> = new Set(
  PROPERTY.scalars.filter(s => s.setBy === 'client' && !s.generated && s !== STATUS && s !== PROPERTY.key),
)
/** A body of garbage is not answered with an endless list. */
const MAX_FAULTS = 200

/**
 * Reads the body of a write against the model, without I/O. Every fault is found (up to 200), in the order of
 * the body, what is missing behind that in the order of the model. References and the change of status are
 * looked at when the stored record is known: `judge`.
 */
export function readChanges(body: JsonObject, mode: Mode, rules: Rules): Changes {
  const reading = new BodyReading(body, mode, rules)
  for (const [name, json] of Object.entries(body)) reading.member(name, json)
  return reading.end()
}

class BodyReading {
  readonly #values: Record<string, FieldValue> = {}
  readonly #faults: Fault[] = []
  #status: Status | undefined
  #position: { readonly field: Scalar; readonly values: Values } | undefined

  constructor(
    private readonly body: JsonObject,
    private readonly mode: Mode,
    private readonly rules: Rules,
  ) {}

  /**
   * One member of the body. Control information and what the service sets itself is ignored (decisions 4).
   */
  member(name: string, json: JsonValue): void {
    if (this.#faults.length >= MAX_FAULTS) return
    const [target = '', annotation] = name.split('@', 2)
    const field = PROPERTY.fields.get(target)
    if (annotation === undefined) this.#field(name, field, json)
    // OData JSON 4.01, 8.5: `Navigation@bind`, in 4.0 `Navigation@odata.bind`.
    else if (target !== '' && /^(odata\.)?bind$/.test(annotation))
      this.#fault(name, field ? { kind: 'NotWritable', field: target } : unknown(target))
  }

  end(): Changes {
    if (this.#position) this.#placeAt(this.#position.field, this.#position.values)
    if (this.mode !== 'change') for (const field of WRITABLE) this.#absent(field)
    this.#changedBy()
    return {
      values: this.#values,
      faults: this.#faults,
      ...(this.#status !== undefined && { status: this.#status }),
    }
  }

  #field(name: string, field: Field | undefined, json: JsonValue): void {
    if (!field) this.#fault(name, unknown(name))
    else if (field.kind === 'navigation') this.#fault(name, { kind: 'NotWritable', field: name })
    else if (field === STATUS) this.#readStatus(json)
    else if (field.type === 'GeographyPoint')
      this.#take(field, readPosition(field, json), values => (this.#position = { field, values }))
    else if (WRITABLE.has(field))
      this.#take(field, this.#read(field, json), value => (this.#values[name] = value))
  }

  #read(field: Scalar, json: JsonValue): Outcome {
    if (field.required && isEmpty(json)) return { problem: { kind: 'RequiredMissing', field: field.name } }
    if (json === null) return { value: empty(field) }
    const outcome = readValue(field, json)
    return 'problem' in outcome ? outcome : this.#inLookup(field, outcome.value)
  }

  #inLookup(field: Scalar, value: FieldValue): Outcome {
    const known = field.lookup && this.rules.lookup(field.lookup.name)
    const wrong = known && [value].flat().find(item => typeof item === 'string' && !known.has(item))
    return wrong === undefined
      ? { value }
      : { problem: { kind: 'NotInLookup', field: field.name, value: String(wrong) } }
  }

  /** A new record has no choice: the service sets its status. */
  #readStatus(json: JsonValue): void {
    const creating = this.mode === 'create'
    if (creating && (json === null || json === DRAFT)) return
    const text = typeof json === 'string' ? json : describe(json)
    if (typeof json !== 'string' || !isStatus(text))
      this.#fault(STATUS.name, { kind: 'NotInLookup', field: STATUS.name, value: text })
    else if (creating) this.#fault(STATUS.name, { kind: 'TransitionNotAllowed', from: 'no record', to: text })
    else this.#status = text
  }

  #placeAt(field: Scalar, position: Values): void {
    const problem = disagreement(field, position, this.#values, this.body[field.name] ?? null)
    if (problem) this.#fault(field.name, problem)
    Object.assign(this.#values, position)
  }

  /** A field that a whole record must have, or that is empty in it. */
  #absent(field: Scalar): void {
    if (field.name in this.body || field.name in this.#values) return
    if (field.required) this.#fault(field.name, { kind: 'RequiredMissing', field: field.name })
    else if (this.mode === 'replace') this.#values[field.name] = empty(field)
  }

  /** Who changes the record: the member of the token, unless the token may write for any (decisions 4). */
  #changedBy(): void {
    const { name } = CHANGED_BY
    if (this.#faults.some(f => f.at === name)) return
    const { memberKey, scopes } = this.rules.actor
    const asked = isEmpty(this.body[name] ?? null) ? undefined : this.#values[name]
    const member = asked ?? memberKey
    if (member !== undefined) this.#values[name] = member
    else if (this.mode !== 'create') this.#fault(name, { kind: 'RequiredMissing', field: name })
    if (memberKey !== undefined && member !== memberKey && !scopes.has('listings:write:any'))
      this.#fault(name, bad(CHANGED_BY, 'the member whom the token names', `'${String(member)}'`).problem)
  }

  #take<T>(field: Scalar, outcome: Outcome<T>, keep: (value: T) => void): void {
    if ('problem' in outcome) this.#fault(field.name, outcome.problem)
    else keep(outcome.value)
  }

  #fault(at: string, problem: Problem): void {
    this.#faults.push({ at, problem })
  }
}

function unknown(field: string): Problem {
  const suggestion = suggest(field, PROPERTY.fields.keys())
  return {
    kind: 'UnknownBodyField',
    entity: PROPERTY.name,
    field,
    ...(suggestion !== undefined && { suggestion }),
  }
}

const isEmpty = (json: JsonValue) => json === null || (typeof json === 'string' && json.trim() === '')

/** Collections are never null. */
const empty = (field: Scalar): FieldValue => (field.collection ? [] : null)

/** The faults in the order of the body, what it does not hold behind that in the order of the model. */
export function sortFaults(faults: readonly Fault[], body: JsonObject): readonly Problem[] {
  if (faults.length < 2) return faults.map(f => f.problem)
  const order = new Map(
    [...new Set([...Object.keys(body), ...PROPERTY.fields.keys()])].map((name, i) => [name, i]),
  )
  return [...faults].sort((a, b) => (order.get(a.at) ?? 0) - (order.get(b.at) ?? 0)).map(f => f.problem)
}
