import {
  ENTITIES,
  type Entity,
  type Field,
  getEntity,
  NAMESPACE,
  type Navigation,
  type Scalar,
} from './model.js'

/** A record of the entity set Field, without its ModificationTimestamp. */
export interface FieldRecord {
  readonly FieldKey: string
  readonly ResourceName: string
  readonly FieldName: string
  readonly DisplayName: string
  readonly Definition: string | null
  readonly Type: string
  readonly LookupName: string | null
  readonly CollectionYN: boolean
  readonly ExpandableYN: boolean
  readonly NullableYN: boolean
  readonly Length: number | null
  readonly Precision: number | null
  readonly Scale: number | null
  readonly ReadableYN: boolean
  readonly OrderableYN: boolean
  readonly UpdatableYN: boolean
  readonly SearchableYN: boolean
  readonly ReadableBy: string
}

/** Returns true for a field that some reader can read, filter and select. */
export const isReadable = ({ readableBy }: Scalar): boolean => readableBy !== 'nobody'

/** Returns true for a field in which records can be sorted. */
export const isSortable = (scalar: Scalar): boolean =>
  isReadable(scalar) && !scalar.collection && scalar.type !== 'GeographyPoint'

/** Returns true for a field that clients can write. */
const isUpdatable = ({ writable }: Entity, { setBy, generated }: Scalar): boolean =>
  writable && setBy === 'client' && !generated

/**
 * Returns true if a navigation can have no target: a reference without a foreign key always can, a relation
 * if its column is nullable.
 */
export function isNullableNavigation(from: Entity, navigation: Navigation): boolean {
  const column = from.fields.get(navigation.local)
  return !navigation.relation || column?.kind !== 'scalar' || column.nullable
}

/** Returns the model as records of the entity set Field. */
export const toFieldRecords = (): readonly FieldRecord[] =>
  [...ENTITIES.values()].flatMap(of => [...of.fields.values()].map(field => toFieldRecord(of, field)))

function toFieldRecord(of: Entity, field: Field): FieldRecord {
  const { name, description, collection } = field
  return {
    FieldKey: `${of.name}.${name}`,
    ResourceName: of.name,
    FieldName: name,
    DisplayName: toDisplayName(name),
    Definition: description === '' ? null : description,
    CollectionYN: collection,
    ...(field.kind === 'scalar' ? describeScalar(of, field) : describeNavigation(of, field)),
  }
}

const describeScalar = (of: Entity, scalar: Scalar) => ({
  Type: `Edm.${scalar.type}`,
  LookupName: scalar.lookup?.name ?? null,
  ExpandableYN: false,
  NullableYN: scalar.nullable,
  Length: scalar.maxLength ?? null,
  Precision: scalar.precision ?? null,
  Scale: scalar.scale ?? null,
  ReadableYN: isReadable(scalar),
  OrderableYN: isSortable(scalar),
  UpdatableYN: isUpdatable(of, scalar),
  SearchableYN: isReadable(scalar),
  ReadableBy: scalar.readableBy,
})

const describeNavigation = (of: Entity, navigation: Navigation) => ({
  Type: `${NAMESPACE}.${getEntity(navigation.target).typeName}`,
  LookupName: null,
  ExpandableYN: true,
  NullableYN: !navigation.collection && isNullableNavigation(of, navigation),
  Length: null,
  Precision: null,
  Scale: null,
  ReadableYN: true,
  OrderableYN: false,
  UpdatableYN: false,
  SearchableYN: true,
  ReadableBy: 'everyone',
})

/**
 * Returns a name for people.
 *   `PoolPrivateYN` → `Pool Private Yes/No`, `MLSAreaMajor` → `MLS Area Major`
 */
const toDisplayName = (name: string): string =>
  name
    .replace(/YN$/, '')
    .replace(/([a-z\d])(?=[A-Z])|([A-Z])(?=[A-Z][a-z])/g, '$1$2 ')
    .concat(name.endsWith('YN') ? ' Yes/No' : '')
