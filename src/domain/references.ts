import type { Problem } from '../errors/problem.js'
import { getEntity } from '../model/model.js'
import type { Values } from './values.js'

/** The entities whose records a listing refers to. */
export interface ReferencedKeys {
  readonly Member: ReadonlySet<string>
  readonly Office: ReadonlySet<string>
}

type ReferenceTarget = keyof ReferencedKeys

/**
 * An office may be a member's own: interface 2.1 has ListOfficeKey name a Member, and decisions 4 takes an
 * Office too.
 */
const targetsOf = (field: string): readonly ReferenceTarget[] =>
  field.endsWith('OfficeKey') ? ['Member', 'Office'] : ['Member']

/** Fields that hold the key of another record, and whose key that may be. */
const REFERENCE_FIELDS: readonly (readonly [string, readonly ReferenceTarget[]])[] = getEntity('Property')
  .scalars.filter(s => s.setBy === 'client' && /(Agent|Member|Office)Key$/.test(s.name))
  .map(s => [s.name, targetsOf(s.name)])

const referencesIn = (values: Values) =>
  REFERENCE_FIELDS.filter(([field]) => typeof values[field] === 'string').map(([field, targets]) => ({
    field,
    value: String(values[field]),
    targets,
  }))

/** The keys that the values refer to, by the entities that may have them. */
export function referencedKeys(values: Values): ReferencedKeys {
  const references = referencesIn(values)
  return { Member: keysFor('Member', references), Office: keysFor('Office', references) }
}

const keysFor = (target: ReferenceTarget, references: ReturnType<typeof referencesIn>) =>
  new Set(references.filter(r => r.targets.includes(target)).map(r => r.value))

/** References that lead nowhere. `known` are those of `referencedKeys` that there are. */
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
