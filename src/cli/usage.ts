import { readSettings } from '../config/config.js'
import { readUsage } from '../data/clients/client-usage.js'
import { openDatabase } from '../data/database.js'
import { ClientService } from '../service/clients/clients.js'
import { exitWithUsage, parseCommandLine, runCommand } from './command.js'

// npm run usage: prints the usage of clients by day (docs/partners.md).

const USAGE = `usage: npm run usage [-- --client CLIENT --days N]

  --client CLIENT  only this client: its id or its name
  --days N         the last N days in UTC, today included; 7 by default`

const HEADINGS = ['day', 'client', 'name', 'requests', 'refused', 'rows']

function readOptions(): { readonly client: string | undefined; readonly days: number } {
  const { client, days } = parseCommandLine(USAGE, {
    options: { client: { type: 'string' }, days: { type: 'string', default: '7' } },
  }).values
  if (!/^[1-9]\d{0,3}$/.test(days))
    exitWithUsage(USAGE, `--days is '${days}'; expected a number from 1 to 9999.`)
  return { client, days: Number(days) }
}

/** Renders rows as tab-separated columns with headings. */
const renderRows = (rows: readonly (readonly (string | number)[])[]): string =>
  [HEADINGS, ...rows].map(row => `${row.join('\t')}\n`).join('')

runCommand(async () => {
  const { client, days } = readOptions()
  const database = await openDatabase(readSettings(process.env), 'command')
  try {
    const found = client === undefined ? undefined : await new ClientService(database, 'command').find(client)
    const rows = await readUsage(database, { days, clientId: found?.ClientId })
    process.stdout.write(
      renderRows(rows.map(row => [row.day, row.clientId, row.name, row.requests, row.refused, row.rows])),
    )
  } finally {
    await database.close()
  }
})
