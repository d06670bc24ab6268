import type { Database } from '../data/database.js'
import { loadRecords } from '../data/import/load-records.js'
import { generateSampleBatches, type SampleRange } from './market.js'

const SELECT_HAS_RECORDS = `select exists (select from "Property") or exists (select from "Member") or exists (select from "Office") as found`

/** Sample keys consist of `L` and nine digits. As text they sort like their numbers. */
const SELECT_LAST_SAMPLE_KEY = `select max("ListingKey") as key from "Property" where "ListingKey" >= 'L0' and "ListingKey" < 'L:' and "ListingKey" ~ '^L[0-9]{9}$'`

/**
 * Loads the sample if the database has no listings, members or offices. Returns true if it was loaded.
 * `onLoaded` gets the number of listings of each batch.
 */
export async function loadSampleIfEmpty(
  database: Database,
  listings: number,
  onLoaded: (listings: number) => void = () => undefined,
): Promise<boolean> {
  const [row] = await database.prisma.$queryRawUnsafe<{ found: boolean }[]>(SELECT_HAS_RECORDS)
  if (row?.found) return false
  await loadSample(database, { listings }, onLoaded)
  return true
}

/** Adds sample listings after the stored ones. `onLoaded` gets the number of listings of each batch. */
export async function appendSample(
  database: Database,
  listings: number,
  onLoaded: (listings: number) => void,
): Promise<void> {
  const [row] = await database.prisma.$queryRawUnsafe<{ key: string | null }[]>(SELECT_LAST_SAMPLE_KEY)
  const offset = Number(row?.key?.slice(1) ?? 0)
  await loadSample(database, { listings, offset }, onLoaded)
}

const loadSample = (
  database: Database,
  sample: SampleRange,
  onLoaded: (listings: number) => void,
): Promise<void> =>
  loadRecords(database, generateSampleBatches(sample), {
    areNew: true,
    actor: { actor: 'sample market' },
    onLoaded: (entity, { loaded }) => {
      if (entity === 'Property') onLoaded(loaded)
    },
  })
