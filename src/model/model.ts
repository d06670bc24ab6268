import generated from './generated.js'
import generatedAdmin from './generated-admin.js'

/** Types of columns, named as in Edm without the prefix (OData CSDL 4.01, 4.4). */
export type EdmType =
  | 'Boolean'
  | 'Int32'
  | 'Int64'
  | 'Decimal'
  | 'String'
  | 'DateTimeOffset'
  | 'Date'
  | 'GeographyPoint'

/** The readers of a field. `disclosed` depends on NON_DISCLOSURE, `own` on the owners of the listing. */
export type ReadAccess = 'everyone' | 'member' | 'disclosed' | 'own' | 'nobody'

export interface Scalar {
  readonly kind: 'scalar'
  readonly name: string
  readonly type: EdmType
  readonly collection: boolean
  readonly nullable: boolean
  readonly description: string
  readonly maxLength?: number
  readonly precision?: number
  readonly scale?: number
  /** The name of the field's lookup. An `open` lookup accepts other text too. */
  readonly lookup?: { readonly name: string; readonly policy: 'open' | 'locked' }
  readonly setBy: 'client' | 'service'
  /** A client must provide the field when it creates a record. */
  readonly required: boolean
  readonly readableBy: ReadAccess
  /** Part of the property's address: hidden from the public if the seller wishes so. */
  readonly address: boolean
  /** Internal column: no adapter exposes it and no client can name it. */
  readonly hidden: boolean
  /** Computed by the database and never written. */
  readonly generated: boolean
  /** The reason to stop using the field, and its replacement. */
  readonly deprecated?: string
}

export interface Navigation {
  readonly kind: 'navigation'
  readonly name: string
  readonly collection: boolean
  readonly target: string
  readonly description: string
  /** The join condition: `this.local = target.foreign`. */
  readonly local: string
  readonly foreign: string
  /** True for a Prisma relation with a foreign key. Otherwise the target may be missing. */
  readonly relation: boolean
  readonly hidden: boolean
}

export type Field = Scalar | Navigation

export interface Entity {
  /** Name of the entity set, the Prisma model and the table. */
  readonly name: string
  /** Name of the entity type in $metadata. */
  readonly typeName: string
  /** A second path of the entity set. */
  readonly alias?: string
  /** Table or view, if it is not the table with the entity's name in the default schema. */
  readonly table?: TableName
  readonly description: string
  readonly key: Scalar
  readonly writable: boolean
  /** Records are created and deleted, and never changed. */
  readonly immutable?: boolean
  /** Fields that clients can name, in the order of the model. */
  readonly fields: ReadonlyMap<string, Field>
  readonly scalars: readonly Scalar[]
  readonly navigations: readonly Navigation[]
  /** Internal columns and relations. */
  readonly hidden: ReadonlyMap<string, Field>
}

/** A table or view in a schema of the database. */
export interface TableName {
  readonly schema: string
  readonly name: string
}

/** An entity as it is generated from a Prisma schema. */
export interface RawEntity
  extends Pick<Entity, 'name' | 'typeName' | 'alias' | 'table' | 'description' | 'writable' | 'immutable'> {
  readonly key: string
  readonly fields: readonly Field[]
}

function toEntity(raw: RawEntity): Entity {
  const fields: readonly Field[] = raw.fields
  const visible = fields.filter(f => !f.hidden)
  const key = fields.find(f => f.name === raw.key)
  if (key?.kind !== 'scalar') throw new Error(`${raw.name} has no key`)
  const byName = (list: readonly Field[]) => new Map(list.map(f => [f.name, f]))
  return {
    ...raw,
    key,
    fields: byName(visible),
    scalars: visible.filter(f => f.kind === 'scalar'),
    navigations: visible.filter(f => f.kind === 'navigation'),
    hidden: byName(fields.filter(f => f.hidden)),
  }
}

/**
 * The namespace of all types. There is only one schema, since clients of the RESO family do not read a second
 * one.
 */
export const NAMESPACE = 'org.reso.metadata'

/** The entities that one service shows. */
export interface EntityModel {
  /** Entities by name, in the order of the model. */
  readonly entities: ReadonlyMap<string, Entity>
}

const toModel = (entities: readonly RawEntity[]): EntityModel => ({
  entities: new Map(entities.map(e => [e.name, toEntity(e)])),
})

/** The model of /odata and /graphql: listings and what belongs to them. */
export const LISTING_MODEL = toModel(generated.entities)
/** The model of /admin: clients, their usage and the audit log. */
export const ADMIN_MODEL = toModel(generatedAdmin.entities)

/** Every entity of both models. Names are unique in both together. */
export const ALL_ENTITIES: readonly Entity[] = [LISTING_MODEL, ADMIN_MODEL].flatMap(model => [
  ...model.entities.values(),
])

/** Every entity of the listings by name, in the order of the model. */
export const ENTITIES: ReadonlyMap<string, Entity> = LISTING_MODEL.entities

/** Returns true for an entity of administration. */
export const isAdminEntity = ({ table }: Pick<Entity, 'table'>): boolean => table?.schema === 'admin'

/** Returns the model that an entity belongs to. */
export const modelOf = (of: Entity): EntityModel => (isAdminEntity(of) ? ADMIN_MODEL : LISTING_MODEL)

/** Returns the entity of that name. Throws if no model has one, so the name must not come from a client. */
export function getEntity(name: string): Entity {
  const found = LISTING_MODEL.entities.get(name) ?? ADMIN_MODEL.entities.get(name)
  if (!found) throw new Error(`No entity ${name} in the model`)
  return found
}

/**
 * Returns a scalar of an entity by name, hidden ones included. Throws if there is none, so the name must not
 * come from a client.
 */
export function getScalar(of: Entity, name: string): Scalar {
  const found = of.fields.get(name) ?? of.hidden.get(name)
  if (found?.kind !== 'scalar') throw new Error(`No scalar ${of.name}.${name} in the model`)
  return found
}
