import { fail, type Problem } from '../errors/problem.js'
import { getEntity, getScalar } from '../model/model.js'
import { objectId } from '../query/memoize.js'
import { columnOf, type Expr, nullLiteral, parameter, rowSource } from '../query/plan.js'
import type { Actor } from './actor.js'
import type { ListingStatus } from './lifecycle.js'
import type { ListingChanges, WriteMode } from './listing-changes.js'
import type { FieldValue } from './values.js'

/** Versions of a record as in ETags. `*` matches any version. */
export type VersionCondition = '*' | readonly string[]

/** The preconditions of a write. Undefined means no condition. */
export interface Precondition {
  readonly ifMatch?: VersionCondition | undefined
  readonly ifNoneMatch?: VersionCondition | undefined
}

/** The conditions of a change of administration. */
export interface ChangeConditions extends Precondition {
  /** Faults of the body. They are reported together with those of the rules. */
  readonly faults?: readonly Problem[]
}

const PROPERTY = getEntity('Property')
const ROW = rowSource('r0')

/** A write before its record is known. */
export interface WriteRequest {
  readonly mode: WriteMode | 'delete'
  readonly actor: Actor
  readonly changes: ListingChanges
  readonly precondition: Precondition
}

/** The part of a written value that rules depend on. */
type ValueState = 'value' | 'null' | 'notPositive'

/** `*`, a number of versions, or undefined for no condition. */
type VersionPattern = '*' | number | undefined

/**
 * The part of a write that its rules and its SQL depend on: everything but the values. Writes of one shape
 * share rules and statements.
 */
export interface WriteShape {
  readonly mode: WriteMode | 'delete'
  readonly actor: Actor
  readonly status: ListingStatus | undefined
  /** The written fields in the order of the model, without StandardStatus. */
  readonly fields: ReadonlyMap<string, ValueState>
  /** Fields to clear, each if its condition holds for the stored record. */
  readonly clears: ReadonlyMap<string, Expr>
  /** Fields whose values in the body are refused. */
  readonly faultyFields: ReadonlySet<string>
  readonly ifMatch: VersionPattern
  readonly ifNoneMatch: VersionPattern
}

const FIELD_NAMES: readonly string[] = [...PROPERTY.fields.keys()]

export function shapeOf({ mode, actor, changes, precondition }: WriteRequest): WriteShape {
  const { values, status, clears, faults } = changes
  const fields = Object.keys(values).sort((a, b) => parameterIndex(a) - parameterIndex(b))
  return {
    mode,
    actor,
    status,
    fields: new Map(fields.map(name => [name, stateOf(values[name])])),
    clears,
    faultyFields: new Set(faults.map(f => f.at)),
    ifMatch: patternOf(precondition.ifMatch),
    ifNoneMatch: patternOf(precondition.ifNoneMatch),
  }
}

/** Equal keys mean equal shapes, within one service and for bodies without faults. */
export const shapeKeyOf = (shape: WriteShape): string =>
  JSON.stringify([
    shape.mode,
    objectId(shape.actor),
    shape.status,
    [...shape.fields],
    [...shape.clears.keys()],
    shape.ifMatch,
    shape.ifNoneMatch,
  ])

function stateOf(value: FieldValue | undefined): ValueState {
  if (value === null || value === undefined) return 'null'
  return typeof value === 'string' && /^(?:0$|-)/.test(value) ? 'notPositive' : 'value'
}

/** A version that a record can have. An ETag of another form matches no record. */
const VERSION = /^(?:0|[1-9]\d{0,17})$/
const possibleVersions = (condition: VersionCondition | undefined): VersionCondition | undefined =>
  typeof condition === 'string' ? condition : condition?.filter(v => VERSION.test(v))

/**
 * Fails unless the version of a record satisfies a precondition (RFC 9110, 13.1). Null: the record has no version.
 * @throws ProblemError PreconditionFailed
 */
export function checkPrecondition(version: string | null, { ifMatch, ifNoneMatch }: Precondition): void {
  const includes = (condition: VersionCondition) =>
    condition === '*' || (version !== null && condition.includes(version))
  if (ifMatch && !includes(ifMatch)) fail({ kind: 'PreconditionFailed', header: 'If-Match' })
  if (ifNoneMatch && includes(ifNoneMatch)) fail({ kind: 'PreconditionFailed', header: 'If-None-Match' })
}

function patternOf(condition: VersionCondition | undefined): VersionPattern {
  const versions = possibleVersions(condition)
  return typeof versions === 'string' ? versions : versions?.length
}

// Every value of a write has a fixed parameter, so that the rules can be built from the shape alone.
const PARAMETERS = ['key', 'now', 'today', 'writer', ...FIELD_NAMES] as const
const PARAMETER_INDEX: ReadonlyMap<string, number> = new Map(PARAMETERS.map((name, i) => [name, i]))

/** Returns the index of the parameter with the value of a field, or with `key`, `now`, `today` or `writer`. */
export function parameterIndex(name: string): number {
  const index = PARAMETER_INDEX.get(name)
  if (index === undefined) throw new Error(`A write has no parameter ${name}`)
  return index
}

/**
 * Returns the values of the parameters of a write.
 * @param writer the author for the audit log, as a JSON object. Empty for the user of the database
 */
export function toParameters(request: WriteRequest, key: string, now: Date, writer = ''): readonly unknown[] {
  const { changes, precondition } = request
  const at = now.toISOString()
  const parameters = new Array<unknown>(PARAMETERS.length).fill(undefined)
  parameters[parameterIndex('key')] = key
  parameters[parameterIndex('now')] = at
  parameters[parameterIndex('today')] = at.slice(0, 10)
  parameters[parameterIndex('writer')] = writer
  for (const name of Object.keys(changes.values)) parameters[parameterIndex(name)] = changes.values[name]
  for (const condition of [precondition.ifMatch, precondition.ifNoneMatch]) {
    const versions = possibleVersions(condition)
    if (typeof versions !== 'string' && versions) parameters.push(...versions)
  }
  return parameters
}

/** The time of the write, and its date in UTC. */
export const NOW: Expr = parameter(parameterIndex('now'), 'DateTimeOffset')
export const TODAY: Expr = parameter(parameterIndex('today'), 'Date')

/** Returns the versions of a precondition. Those of If-None-Match follow those of If-Match. */
export const versionParameters = (offset: number, count: number): readonly Expr[] =>
  Array.from({ length: count }, (_, i) => parameter(PARAMETERS.length + offset + i, 'Int64'))

/** Returns the stored value of a field, null before the record exists. */
export function storedValue({ mode }: Pick<WriteShape, 'mode'>, name: string): Expr {
  const scalar = getScalar(PROPERTY, name)
  return mode === 'create' ? nullLiteral(scalar.type) : columnOf(scalar, ROW)
}

/** Returns the value that the write gives a field, or undefined if it does not write the field. */
export function writtenValue({ fields }: Pick<WriteShape, 'fields'>, name: string): Expr | undefined {
  const state = fields.get(name)
  if (state === undefined) return undefined
  const { type } = getScalar(PROPERTY, name)
  return state === 'null' ? nullLiteral(type) : parameter(parameterIndex(name), type)
}

/** Returns the value of a field after the write. */
export const valueAfter = (shape: WriteShape, name: string): Expr =>
  writtenValue(shape, name) ?? storedValue(shape, name)
