import type { Problem } from '../errors/problem.js'
import { getEntity } from '../model/model.js'
import type { Values } from './values.js'

/** Keys that a listing refers to, by entity. */
export interface ReferencedKeys {
  readonly Member: ReadonlySet<string>
  readonly Office: ReadonlySet<string>
}

type ReferenceTarget = keyof ReferencedKeys

/**
 * An office field can refer to a Member or an Office: interface 2.1 has ListOfficeKey name a Member, and
 * decisions 4 also accept an Office.
 */
const targetsOf = (field: string): readonly ReferenceTarget[] =>
  field.endsWith('OfficeKey') ? ['Member', 'Office'] : ['Member']

/** Fields that contain the key of another record, and the entities it can belong to. */
const REFERENCE_FIELDS: readonly (readonly [string, readonly ReferenceTarget[]])[] = getEntity('Property')
  .scalars.filter(s => s.setBy === 'client' && /(Agent|Member|Office)Key$/.test(s.name))
  .map(s => [s.name, targetsOf(s.name)])

const referencesIn = (values: Values) =>
  REFERENCE_FIELDS.filter(([field]) => typeof values[field] === 'string').map(([field, targets]) => ({
    field,
    value: String(values[field]),
    targets,
  }))

/** Returns the keys that the values refer to, by the entities they can belong to. */
export function referencedKeys(values: Values): ReferencedKeys {
  const references = referencesIn(values)
  return { Member: keysFor('Member', references), Office: keysFor('Office', references) }
}

const keysFor = (target: ReferenceTarget, references: ReturnType<typeof referencesIn>) =>
  new Set(references.filter(r => r.targets.includes(target)).map(r => r.value))

/**
 * Returns a fault for each reference without a record. `existing` are those of the `referencedKeys` that
 * exist.
 */
export function missingReferences(
  values: Values,
  existing: ReferencedKeys,
): readonly (Problem & { kind: 'NoSuchReference' })[] {
  return referencesIn(values)
    .filter(({ value, targets }) => !targets.some(target => existing[target].has(value)))
    .map(({ field, value, targets }) => ({
      kind: 'NoSuchReference',
      field,
      value,
      target: targets.join(' or '),
    }))
}
