import generated from './generated.js'

/** Types of columns. Names are those of Edm without the prefix (OData CSDL 4.01, 4.4). */
export type EdmType =
  | 'Boolean'
  | 'Int32'
  | 'Int64'
  | 'Decimal'
  | 'String'
  | 'DateTimeOffset'
  | 'Date'
  | 'GeographyPoint'

/** Who may read a field: `disclosed` depends on NON_DISCLOSURE, `own` on whose listing it is. */
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
  /** The name of its Lookup, and whether other text is taken too. */
  readonly lookup?: { readonly name: string; readonly policy: 'open' | 'locked' }
  readonly setBy: 'client' | 'service'
  /** A client must give it when it creates a record. */
  readonly required: boolean
  readonly readableBy: ReadAccess
  /** Part of where the property stands: hidden from the public where the seller wishes so. */
  readonly address: boolean
  /** A column for the service's own use: no adapter shows it, no client can name it. */
  readonly hidden: boolean
  /** Computed by the database: never written. */
  readonly generated: boolean
  /** Why clients should no longer use the field, and what instead. */
  readonly deprecated?: string
}

export interface Navigation {
  readonly kind: 'navigation'
  readonly name: string
  readonly collection: boolean
  readonly target: string
  readonly description: string
  /** The join: `this.local = target.foreign`. */
  readonly local: string
  readonly foreign: string
  /** A Prisma relation with a foreign key; otherwise a free reference, whose target may be missing. */
  readonly relation: boolean
  readonly hidden: boolean
}

export type Field = Scalar | Navigation

export interface Entity {
  /** Name of the entity set, the Prisma model and the table. */
  readonly name: string
  /** Name of the entity type in $metadata. */
  readonly typeName: string
  /** Other path of the entity set. */
  readonly alias?: string
  readonly description: string
  readonly key: Scalar
  readonly writable: boolean
  /** What clients can name, in the order of the model. */
  readonly fields: ReadonlyMap<string, Field>
  readonly scalars: readonly Scalar[]
  readonly navigations: readonly Navigation[]
  /** Columns and relations for the service's own use. */
  readonly hidden: ReadonlyMap<string, Field>
}

function toEntity(raw: (typeof generated.entities)[number]): Entity {
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

/** Where all types stand. One schema only: clients of the RESO family read no second one. */
export const NAMESPACE = 'org.reso.metadata'

/** Every entity, by name, in the order of the model. */
export const ENTITIES: ReadonlyMap<string, Entity> = new Map(
  generated.entities.map(e => [e.name, toEntity(e)]),
)

/** The entity of that name. Only for names that the model itself holds. */
export function getEntity(name: string): Entity {
  const found = ENTITIES.get(name)
  if (!found) throw new Error(`No entity ${name} in the model`)
  return found
}

/** A scalar of an entity by name, hidden ones included. Only for names that the model itself holds. */
export function getScalar(of: Entity, name: string): Scalar {
  const found = of.fields.get(name) ?? of.hidden.get(name)
  if (found?.kind !== 'scalar') throw new Error(`No scalar ${of.name}.${name} in the model`)
  return found
}
