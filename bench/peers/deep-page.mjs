import { psql, SHARED } from '../data/cluster.mjs'

/**
 * Key of the last record before a page, for servers whose cursor is a key and which take minutes to walk
 * there.
 */
export const keyBefore = ({ page, size }) =>
  psql(
    `SELECT "ListingKey" FROM "Property" ORDER BY "ModificationTimestamp", "ListingKey" LIMIT 1 OFFSET ${(page - 1) * size - 1}`,
    SHARED,
  )
