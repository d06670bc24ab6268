import type { Problem } from '../errors/problem.js'
import { entity } from '../model/model.js'
import type { Values } from './values.js'

/** The entities whose records a listing refers to. */
export interface Keys {
  readonly Member: ReadonlySet<string>
  readonly Office: ReadonlySet<string>
}

type Target = keyof Keys

/**
 * An office may be a member's own: interface 2.1 has ListOfficeKey name a Member, and decisions 4 takes an
 * Office too.
 */
const targetsOf = (field: string): readonly Target[] =>
  field.endsWith('OfficeKey') ? ['Member', 'Office'] : ['Member']

/** Fields that hold the key of another record, and whose key that may be. */
const REFERENCES: readonly (readonly [string, readonly Target[]])[] = entity('Property')
  .scalars.filter(s => s.setBy === 'client' && /(Agent|Member|Office)Key$/.test(s.name))
  .map(s => [s.name, targetsOf(s.name)])

const references = (values: Values) =>
  REFERENCES.filter(([field]) => typeof values[field] === 'string').map(([field, targets]) => ({
    field,
    value: String(values[field]),
    targets,
  }))

/** The keys that the values refer to, by the entities that may have them. */
export function referencedKeys(values: Values): Keys {
  const found = references(values)
  return { Member: keysOf('Member', found), Office: keysOf('Office', found) }
}

const keysOf = (target: Target, found: ReturnType<typeof references>) =>
  new Set(found.filter(r => r.targets.includes(target)).map(r => r.value))

/** References that lead nowhere. `known` are those of `referencedKeys` that there are. */
export function missingReferences(
  values: Values,
  known: Keys,
): readonly (Problem & { kind: 'NoSuchReference' })[] {
  return references(values)
    .filter(({ value, targets }) => !targets.some(target => known[target].has(value)))
    .map(({ field, value, targets }) => ({
      kind: 'NoSuchReference',
      field,
      value,
      target: targets.join(' or '),
    }))
}
