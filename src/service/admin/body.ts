import type { JsonObject, JsonValue } from '../../domain/json.js'
import { unknownFieldProblem } from '../../domain/listing-changes.js'
import { type FieldValue, type ReadResult, readFieldValue, type Values } from '../../domain/values.js'
import type { Problem } from '../../errors/problem.js'
import type { Entity, Field, Scalar } from '../../model/model.js'

/** The mode of a write. `replace` clears the fields that the body omits. */
export type AdminWriteMode = 'create' | 'update' | 'replace'

/** The values of a body, and all its faults in the order of the body. */
export interface AdminBody {
  readonly values: Values
  readonly faults: readonly Problem[]
}

/** Limit on the faults of one answer. */
const MAX_FAULTS = 200

/**
 * Reads the body of a write of administration against the model. Control information and fields that the
 * service sets are ignored, as in writes of listings. A secret is refused: the service creates secrets itself.
 */
export function readAdminBody(of: Entity, body: JsonObject, mode: AdminWriteMode): AdminBody {
  const values: Record<string, FieldValue> = {}
  const faults: Problem[] = []
  const missing = mode === 'update' ? [] : of.scalars.filter(field => !(field.name in body))
  const outcomes = [
    ...Object.entries(body).map(([name, json]) => [name, readMember(of, name, json, mode)] as const),
    ...missing.map(field => [field.name, readMissing(of, field, mode)] as const),
  ]
  for (const [name, outcome] of outcomes)
    if (outcome && 'problem' in outcome) faults.push(outcome.problem)
    else if (outcome) values[name] = outcome.value
  return { values, faults: faults.slice(0, MAX_FAULTS) }
}

/** Reads a field that the body omits: it is required, or `replace` clears it. */
function readMissing(of: Entity, field: Scalar, mode: AdminWriteMode): ReadResult | undefined {
  if (!isClientField(field) || (mode === 'replace' && field === of.key)) return undefined
  if (field.required) return { problem: { kind: 'RequiredMissing', field: field.name } }
  return mode === 'replace' && (field.nullable || field.collection) ? { value: emptyValue(field) } : undefined
}

const isClientField = ({ setBy, generated }: Scalar): boolean => setBy === 'client' && !generated

/** Returns undefined for a member that is ignored. */
function readMember(of: Entity, name: string, json: JsonValue, mode: AdminWriteMode): ReadResult | undefined {
  const [target = '', annotation] = name.split('@', 2)
  const field = of.fields.get(target)
  if (annotation !== undefined)
    return target !== '' && /^(odata\.)?bind$/.test(annotation) ? toBindFault(of, target, field) : undefined
  if (!field) return { problem: unknownFieldProblem(of, name) }
  if (field.kind === 'navigation') return { problem: { kind: 'NotWritable', field: name } }
  if (isClientField(field)) return readValue(field, json, mode)
  return field.name === SECRET && json !== null
    ? { problem: { kind: 'NotWritable', field: name } }
    : undefined
}

/** The field with a secret that the service has made. */
export const SECRET = 'Secret'

const toBindFault = (of: Entity, target: string, field: Field | undefined): ReadResult => ({
  problem: field ? { kind: 'NotWritable', field: target } : unknownFieldProblem(of, target),
})

/** Blank text empties a field. A field with a default value, which is never null, is not emptied. */
function readValue(field: Scalar, json: JsonValue, mode: AdminWriteMode): ReadResult | undefined {
  const isEmpty =
    json === null || ((field.nullable || field.required) && typeof json === 'string' && json.trim() === '')
  if (!isEmpty) return readFieldValue(field, json)
  if (field.nullable || field.collection) return { value: emptyValue(field) }
  return mode === 'create' && !field.required
    ? undefined
    : { problem: { kind: 'RequiredMissing', field: field.name } }
}

/** Returns the value that clears a field. Collections are never null. */
const emptyValue = (field: Scalar): FieldValue => (field.collection ? [] : null)
