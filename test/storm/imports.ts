import { rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { importFile } from '../../src/data/import/import.js'
import { EXISTS } from './ledger.js'
import { createRandom, type Storm, type StormRow } from './storm.js'
import type { NoteStep } from './watchdog.js'

const LISTINGS = 60
const PAUSE_MS = 1500

/** A file of some listings with other texts and other children each time. */
function toFile(
  random: (below: number) => number,
  text: string,
  { memberKey }: Storm['agent'],
): readonly StormRow[] {
  const numbers = Array.from({ length: LISTINGS }, (_, n) => n).filter(() => random(2) === 0)
  return numbers.map(n => ({
    ListingKey: `I${n}`,
    StandardStatus: 'Active',
    MlsStatus: 'Active',
    ContractStatus: 'Available',
    City: 'Vail',
    ListAgentKey: memberKey,
    ListOfficeKey: memberKey,
    PublicRemarks: text,
    InternetEntireListingDisplayYN: random(4) > 0,
    ModificationTimestamp: `20${10 + random(10)}-01-01T00:00:00Z`,
    Media: Array.from({ length: random(4) }, (_, i) => ({ MediaKey: `I${n}-M${i}`, Order: random(9) })),
    Rooms: Array.from({ length: random(3) }, (_, i) => ({ RoomKey: `I${n}-R${i}`, RoomType: 'Kitchen' })),
  }))
}

/** Imports files, one after the other, beside all other writers. Returns the number of complete imports. */
export async function runImports(storm: Storm, note: NoteStep): Promise<number> {
  const path = join(tmpdir(), `storm-${storm.kind}.json`)
  const random = createRandom(999)
  let count = 0
  for (let n = 0; !storm.isOver(); n++) {
    const text = `import ${n}`
    const listings = toFile(random, text, storm.agent)
    await writeFile(path, JSON.stringify({ Property: listings }))
    const isComplete = await importOnce(storm, path, note)
    if (isComplete) count++
    for (const { ListingKey } of listings)
      storm.ledger.record(
        { set: 'Property', key: String(ListingKey), fields: { PublicRemarks: text, [EXISTS]: true } },
        isComplete,
      )
    await wait(PAUSE_MS)
  }
  await rm(path, { force: true })
  return count
}

/** Returns false if the database became unavailable. */
async function importOnce(storm: Storm, path: string, note: NoteStep): Promise<boolean> {
  note('opens the database')
  const database = await storm.connect().catch(() => undefined)
  if (!database) return false
  try {
    note('imports')
    const { faultCount } = await importFile(database, path)
    return faultCount === 0
  } catch {
    return false
  } finally {
    note('closes the database')
    await database.close().catch(() => undefined)
    note('waits')
  }
}
