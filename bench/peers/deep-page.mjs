import { psql, SHARED } from '../data/cluster.mjs'

/**
 * Returns the key of the last record before a page, for servers with key cursors. Following their links would
 * take minutes.
 */
export const keyBefore = ({ page, size }) =>
  psql(
    `SELECT "ListingKey" FROM "Property" ORDER BY "ModificationTimestamp", "ListingKey" LIMIT 1 OFFSET ${(page - 1) * size - 1}`,
    SHARED,
  )
