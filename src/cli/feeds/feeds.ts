import { readSettings } from '../../config/config.js'
import { openDatabase } from '../../data/database.js'
import type { FeedColumns, FeedDetails } from '../../data/feeds/feed-store.js'
import { FeedService } from '../../service/feeds/feeds.js'
import { FEED_PRESETS } from '../../service/feeds/presets.js'
import { checkAction, commandWriter, exitWithUsage, parseCommandLine, runCommand } from '../command.js'
import { FEED_OPTIONS, FEED_OPTIONS_USAGE, readFeedColumns } from './feed-options.js'

// npm run feeds: manages the feeds of the service (docs/partners.md).

const USAGE = `usage: npm run feeds -- init | add NAME --filter "FILTER" [OPTIONS] | list | show FEED | change FEED [OPTIONS] | refresh FEED | remove FEED

init adds the feeds ${FEED_PRESETS.map(({ FeedName }) => FeedName).join(', ')}, unless they exist. refresh compiles the filter again, after an upgrade or an interrupted change.
The value none clears an option. OPTIONS:
  ${FEED_OPTIONS_USAGE.replaceAll('] [', ']\n  [')}`

/** The options that each action takes. */
const ALLOWED_OPTIONS: Readonly<Record<string, readonly string[]>> = {
  init: [],
  add: Object.keys(FEED_OPTIONS),
  list: [],
  show: [],
  change: Object.keys(FEED_OPTIONS),
  refresh: [],
  remove: [],
}

const missingName = (action: string): string | undefined =>
  action === 'init' || action === 'list' ? undefined : 'The name of the feed is missing.'

function checkArguments(positionals: readonly string[], given: readonly string[]): void {
  const [action] = positionals
  checkAction(USAGE, ALLOWED_OPTIONS, positionals, given, missingName)
  if (action === 'add' && !given.includes('filter'))
    exitWithUsage(USAGE, "--filter is missing; 'true' shows all listings.")
  if (action === 'change' && given.length === 0) exitWithUsage(USAGE, 'There is nothing to change.')
}

const print = (text: string): void => void process.stdout.write(text)
const printJson = ({ FilterSql: _, ...feed }: FeedDetails): void =>
  print(`${JSON.stringify(feed, undefined, 2)}\n`)

const renderList = (feeds: readonly FeedDetails[]): string =>
  feeds
    .map(({ FeedName, Listings, Clients, Filter }) =>
      [FeedName, `${Listings} listings`, `${Clients.length} clients`, Filter].join('\t'),
    )
    .map(line => `${line}\n`)
    .join('')

/** Adds the presets that do not exist yet. */
async function init(service: FeedService): Promise<void> {
  const known = new Set((await service.list()).map(({ FeedName }) => FeedName))
  for (const preset of FEED_PRESETS) if (!known.has(preset.FeedName)) await service.add(preset)
  print(renderList(await service.list()))
}

async function runAction(
  service: FeedService,
  [action = '', name = '']: readonly string[],
  columns: FeedColumns,
): Promise<void> {
  if (action === 'init') return init(service)
  if (action === 'list') return print(renderList(await service.list()))
  if (action === 'add') return printJson(await service.add({ Filter: '', ...columns, FeedName: name }))
  if (action === 'change') return printJson(await service.change(name, columns))
  if (action === 'refresh') return printJson(await service.refresh(name))
  printJson(action === 'remove' ? await service.remove(name) : await service.find(name))
}

async function main(): Promise<void> {
  const { positionals, values } = parseCommandLine(USAGE, { options: FEED_OPTIONS, allowPositionals: true })
  checkArguments(positionals, Object.keys(values))
  const columns = readFeedColumns(values)
  const settings = readSettings(process.env)
  const database = await openDatabase(settings, 'command')
  try {
    await runAction(new FeedService(database, commandWriter(), settings), positionals, columns)
  } finally {
    await database.close()
  }
}

runCommand(main)
