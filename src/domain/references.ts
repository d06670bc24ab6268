import { getEntity } from '../model/model.js'
import type { Values } from './values.js'

type ReferenceTarget = 'Member' | 'Office'

/**
 * An office field can refer to a Member, as the interface requires, or to an Office.
 */
const targetsOf = (field: string): readonly ReferenceTarget[] =>
  field.endsWith('OfficeKey') ? ['Member', 'Office'] : ['Member']

/** Fields that contain the key of another record, and the entities it can belong to. */
export const REFERENCE_FIELDS: readonly (readonly [string, readonly ReferenceTarget[]])[] = getEntity(
  'Property',
)
  .scalars.filter(s => s.setBy === 'client' && /(Agent|Member|Office)Key$/.test(s.name))
  .map(s => [s.name, targetsOf(s.name)])

/** Returns the keys of other records in the values. */
export const referencedKeys = (values: Values): readonly string[] => [
  ...new Set(REFERENCE_FIELDS.map(([field]) => values[field]).filter(key => typeof key === 'string')),
]
