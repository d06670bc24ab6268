import { readSettings } from '../config/config.js'
import { openDatabase } from '../data/database.js'
import { loadLookups } from '../data/import/lookup-seed.js'
import { migrate } from '../data/migrate.js'
import { appendSample } from '../sample/fill.js'
import { exitWithUsage, parseCommandLine, printWarning, runCommand } from './command.js'
import { startProgressBar } from './progress.js'

// npm run seed: adds listings of the sample market, with their offices, members, media, rooms and open
// houses.

const USAGE = `usage: npm run seed -- --listings N

Adds N listings of the sample market, with their offices, members, media, rooms and open houses. If it is
interrupted, the next call continues after the last listing.`

const MAX_LISTINGS = 10_000_000

function readListingCount(): number {
  const { listings } = parseCommandLine(USAGE, { options: { listings: { type: 'string' } } }).values
  const count = /^\d{1,8}$/.test(listings ?? '') ? Number(listings) : 0
  if (count < 1 || count > MAX_LISTINGS)
    exitWithUsage(
      USAGE,
      `--listings is ${listings === undefined ? 'missing' : `'${listings}'`}; expected a number from 1 to ${MAX_LISTINGS}.`,
    )
  return count
}

async function main(): Promise<void> {
  const listings = readListingCount()
  const database = await openDatabase(readSettings(process.env), 'command')
  const startTime = Date.now()
  let loadedCount = 0
  try {
    await migrate(database, undefined, { onWarning: printWarning })
    await loadLookups(database)
    const progress = startProgressBar({ step: 'Adding', total: listings, unit: 'listings' })
    const onLoaded = (count: number) => {
      loadedCount += count
      progress.update(loadedCount)
    }
    await appendSample(database, listings, onLoaded).finally(progress.stop)
    const seconds = (Date.now() - startTime) / 1000
    process.stdout.write(
      `${loadedCount} listings added in ${seconds.toFixed(1)} s (${Math.round(loadedCount / seconds)} a second).\n`,
    )
  } catch (error) {
    if (loadedCount > 0)
      process.stderr.write(
        `${loadedCount} listings were added before this failed; the next call continues after them.\n`,
      )
    throw error
  } finally {
    await database.close()
  }
}

runCommand(main)
