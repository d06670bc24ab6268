import { type Entity, getEntity, type Navigation } from '../../model/model.js'

/** The value of a column in a record to load. Exact decimals can be strings. */
export type ColumnValue = string | number | boolean | null | readonly string[]

/** A record by column names. A missing column is null, or empty for a collection. */
export type TableRow = Readonly<Record<string, ColumnValue>>

/** A record to load, with its nested records, which replace the stored ones. */
export interface ImportRecord {
  readonly entity: string
  readonly key: string
  readonly row: TableRow
  readonly nested: readonly ImportRecord[]
}

/**
 * The entities that can be loaded, parents before children. The change log is written only by the database.
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

/**
 * Returns true for a navigation to child records. ListAgent and similar navigations refer to independent
 * records.
 */
export const isChildNavigation = ({ relation, collection }: Navigation): boolean => relation && collection

/**
 * Returns the columns by which a nested record refers to its parent. Media refers by resource and key, and
 * the database sets the hidden foreign key.
 */
export const toParentColumns = (navigation: Navigation, parent: Entity, key: string): TableRow =>
  getEntity(navigation.target).fields.has(navigation.foreign)
    ? { [navigation.foreign]: key }
    : { ResourceName: parent.name, ResourceRecordKey: key }
