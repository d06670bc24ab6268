import { readSettings } from '../config/config.js'
import { openDatabase } from '../data/database.js'
import { loadLookups } from '../data/import/lookup-seed.js'
import { migrate } from '../data/migrate.js'
import { addSample } from '../sample/fill.js'
import { readArguments, refuse, runCommand } from './command.js'
import { startProgress } from './progress.js'

// npm run seed: adds listings of the sample market, with their offices, members, media, rooms and open
// houses.

const USAGE = 'usage: npm run seed -- --listings N'

const MOST = 10_000_000

function readListings(): number {
  const { listings } = readArguments(USAGE, { options: { listings: { type: 'string' } } }).values
  const count = /^\d{1,8}$/.test(listings ?? '') ? Number(listings) : 0
  if (count < 1 || count > MOST)
    refuse(
      USAGE,
      `--listings is ${listings === undefined ? 'missing' : `'${listings}'`}; expected a number from 1 to ${MOST}.`,
    )
  return count
}

async function main(): Promise<void> {
  const listings = readListings()
  const database = await openDatabase(readSettings(process.env), 'command')
  const started = Date.now()
  let done = 0
  try {
    await migrate(database)
    await loadLookups(database)
    const progress = startProgress(
      '{bar} {percentage}% | {value} of {total} listings | {rate}/s | {eta_formatted} left',
      listings,
    )
    const onLoaded = (count: number) => {
      done += count
      progress.advance(done)
    }
    await addSample(database, listings, onLoaded).finally(progress.stop)
    const seconds = (Date.now() - started) / 1000
    process.stdout.write(
      `${done} listings added in ${seconds.toFixed(1)} s (${Math.round(done / seconds)} a second).\n`,
    )
  } catch (error) {
    if (done > 0)
      process.stderr.write(
        `${done} listings were added before this failed; the next call goes on after them.\n`,
      )
    throw error
  } finally {
    await database.close()
  }
}

runCommand(main)
