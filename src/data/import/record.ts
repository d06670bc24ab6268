import { type Entity, getEntity, type Navigation } from '../../model/model.js'

/** The value of a column of a record to load. Exact decimals may be text. */
export type ColumnValue = string | number | boolean | null | readonly string[]

/** A record by column names; a column that is left out is null (empty, for a collection). */
export type TableRow = Readonly<Record<string, ColumnValue>>

/** A record to load, with the records nested in it, which replace those that it has in the database. */
export interface ImportRecord {
  readonly entity: string
  readonly key: string
  readonly row: TableRow
  readonly nested: readonly ImportRecord[]
}

/**
 * The entities that can be loaded, parents before their children. The change log is not one of them: only the
 * database writes it.
 */
export const ENTITIES_IN_LOAD_ORDER: readonly Entity[] = [
  'Lookup',
  'Office',
  'Member',
  'Property',
  'Media',
  'Rooms',
  'OpenHouse',
].map(getEntity)

/** Whether a navigation leads to children: real relations. ListAgent and the like lead to records of their own. */
export const isChildNavigation = ({ relation, collection }: Navigation): boolean => relation && collection

/**
 * The columns by which a nested record knows its parent. Media name it by resource and key; the database finds
 * the hidden reference.
 */
export const toParentColumns = (navigation: Navigation, parent: Entity, key: string): TableRow =>
  getEntity(navigation.target).fields.has(navigation.foreign)
    ? { [navigation.foreign]: key }
    : { ResourceName: parent.name, ResourceRecordKey: key }
