import { ENTITIES, type Entity, type Scalar } from '../../model/model.js'
import type { ValueType } from '../../query/functions.js'

/** The scalar of the schema that stands for a type of the language. */
// biome-ignore format: table
export const SCALAR_OF: Readonly<Record<ValueType, string>> = {
  Boolean:          'Boolean',
  Int32:            'Int',
  Int64:            'Long',
  Decimal:          'Decimal',
  Double:           'Float',
  String:           'String',
  DateTimeOffset:   'DateTime',
  Date:             'Date',
  TimeOfDay:        'TimeOfDay',
  Duration:         'Duration',
  GeographyPoint:   'GeoPoint',
  GeographyPolygon: 'GeoPolygon',
}

/** The two fields of Query that lead to an entity: one record by its key, and a page of many. */
export interface RootFieldNames {
  readonly one: string
  readonly many: string
}

/** Entities that are called otherwise where they are spoken of one by one. */
const SINGULAR_NAMES: Readonly<Record<string, string>> = { Media: 'MediaItem', Rooms: 'Room' }

const lowerFirst = (name: string) => `${name.charAt(0).toLowerCase()}${name.slice(1)}`
export const upperFirst = (name: string) => `${name.charAt(0).toUpperCase()}${name.slice(1)}`

/** `property` and `properties`. */
export function rootFieldNamesOf({ name }: Entity): RootFieldNames {
  const one = lowerFirst(SINGULAR_NAMES[name] ?? name)
  return { one, many: one.endsWith('y') ? `${one.slice(0, -1)}ies` : `${one}s` }
}

/** What a field of Query leads to. */
export interface RootField {
  readonly entity: Entity
  readonly form: keyof RootFieldNames
}

/** The fields of Query that lead to entities, by name. */
export const ROOT_FIELDS: ReadonlyMap<string, RootField> = new Map(
  [...ENTITIES.values()].flatMap((entity): readonly (readonly [string, RootField])[] => {
    const { one, many } = rootFieldNamesOf(entity)
    return [
      [one, { entity, form: 'one' }],
      [many, { entity, form: 'many' }],
    ]
  }),
)

/** Entities by the names of their object types. */
export const ENTITY_OF_TYPE: ReadonlyMap<string, Entity> = new Map(
  [...ENTITIES.values()].map(e => [e.typeName, e]),
)

/** Names of the types that stand around an entity's own. */
export const connectionTypeNameOf = ({ typeName }: Entity) => `${typeName}Connection`
export const edgeTypeNameOf = ({ typeName }: Entity) => `${typeName}Edge`
export const orderInputNameOf = ({ typeName }: Entity) => `${typeName}Order`
export const filterInputNameOf = ({ typeName }: Entity) => `${typeName}Filter`
export const collectionFilterInputNameOf = ({ typeName }: Entity) => `${typeName}CollectionFilter`
export const recordInputNameOf = ({ typeName }: Entity) => `${typeName}Input`

/** The column that counts the versions of a record, where there is one: such records have an `etag`. */
export const hasEtag = ({ hidden }: Entity) => hidden.has('RecordVersion')

/** Whether anybody may read the field: what nobody may read is no part of the schema. */
export const isExposed = ({ readableBy }: Scalar) => readableBy !== 'nobody'
