import { readFileSync } from 'node:fs'
import { readSettings } from '../config/config.js'
import { type ClientColumns, type ClientDetails, readClientAudit } from '../data/clients/client-store.js'
import { openDatabase } from '../data/database.js'
import { messageOf } from '../errors/problem.js'
import { ClientService, type ClientWithSecret } from '../service/clients/clients.js'
import { CLIENT_OPTIONS, CLIENT_OPTIONS_USAGE, readClientColumns } from './client-options.js'
import { checkAction, commandWriter, exitWithUsage, parseCommandLine, runCommand } from './command.js'

// npm run clients: manages the clients of the service (docs/partners.md). A secret is printed only once, when
// it is created.

const USAGE = `usage: npm run clients -- add NAME [OPTIONS] | list | show CLIENT | change CLIENT [--name NAME] [OPTIONS] | rotate CLIENT [--end] | disable CLIENT | enable CLIENT | remove CLIENT

CLIENT is the id or the name of a client. The value none clears an option. OPTIONS:
  ${CLIENT_OPTIONS_USAGE.replaceAll('] [', ']\n  [')}`

const OPTIONS = { ...CLIENT_OPTIONS, name: { type: 'string' }, end: { type: 'boolean' } } as const

const readArguments = () => parseCommandLine(USAGE, { options: OPTIONS, allowPositionals: true })

type ClientArguments = ReturnType<typeof readArguments>['values']

/** The options that each action takes. */
const ALLOWED_OPTIONS: Readonly<Record<string, readonly string[]>> = {
  add: Object.keys(CLIENT_OPTIONS),
  list: [],
  show: [],
  change: [...Object.keys(CLIENT_OPTIONS), 'name'],
  rotate: ['end'],
  disable: [],
  enable: [],
  remove: [],
}
/** Entries of the audit log that `show` prints. */
const SHOWN_AUDIT_ENTRIES = 20

const missingName = (action: string): string | undefined => {
  if (action === 'list') return undefined
  return action === 'add' ? 'The name is missing.' : 'The id or name of the client is missing.'
}

const STATES: readonly (readonly [state: string, holds: (client: ClientDetails) => boolean])[] = [
  ['removed', client => client.RemovedTimestamp !== null],
  ['disabled', client => client.DisabledTimestamp !== null],
  [
    'expired',
    client => client.ExpirationTimestamp !== null && Date.parse(client.ExpirationTimestamp) <= Date.now(),
  ],
]

const stateOf = (client: ClientDetails): string => STATES.find(([, holds]) => holds(client))?.[0] ?? 'active'

function renderList(clients: readonly ClientDetails[]): string {
  const rows = clients.map(client => [
    client.ClientId,
    client.Name,
    stateOf(client),
    client.AudienceClass,
    client.Scopes.join(' '),
    client.LastUsedTimestamp ?? 'never used',
    client.Secrets.length === 2 ? '2 secrets' : '',
  ])
  const widths = rows.reduce<number[]>(
    (max, row) => row.map((cell, i) => Math.max(cell.length, max[i] ?? 0)),
    [],
  )
  return rows
    .map(
      row =>
        `${row
          .map((cell, i) => cell.padEnd(widths[i] ?? 0))
          .join('  ')
          .trimEnd()}\n`,
    )
    .join('')
}

const print = (text: string): void => void process.stdout.write(text)
const printJson = (value: unknown): void => print(`${JSON.stringify(value, undefined, 2)}\n`)

function printWithSecret({ client, secret }: ClientWithSecret): void {
  printJson({ state: stateOf(client), ...client })
  print(`client id:     ${client.ClientId}\nclient secret: ${secret}\n`)
  process.stderr.write('The secret cannot be shown again. Send it over a secure channel.\n')
}

async function runAction(
  service: ClientService,
  database: Parameters<typeof readClientAudit>[0],
  [action = '', name = '']: readonly string[],
  values: ClientArguments,
  columns: ClientColumns & { readonly Name?: string },
): Promise<void> {
  if (action === 'add') return printWithSecret(await service.add({ ...columns, Name: name }))
  if (action === 'list') return print(renderList(await service.list()))
  const client = await service.find(name)
  const id = client.ClientId
  if (action === 'rotate' && !values.end) return printWithSecret(await service.rotate(id))
  const result = await changeOrShow(service, action, client, columns)
  printJson({
    state: stateOf(result),
    ...result,
    ...(action === 'show' && { Audit: await readClientAudit(database, id, SHOWN_AUDIT_ENTRIES) }),
  })
}

function changeOrShow(
  service: ClientService,
  action: string,
  client: ClientDetails,
  columns: ClientColumns,
): Promise<ClientDetails> | ClientDetails {
  const id = client.ClientId
  if (action === 'change') return service.change(id, columns)
  if (action === 'rotate') return service.endRotation(id)
  if (action === 'disable') return service.disable(id)
  if (action === 'enable') return service.enable(id)
  if (action === 'remove') return service.remove(id)
  return client
}

function toColumns(values: ClientArguments): ClientColumns & { readonly Name?: string } {
  const { name, end: _, ...options } = values
  return { ...readClientColumns(options, readJson), ...(name !== undefined && { Name: name }) }
}

function readJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch (error) {
    throw new Error(`${path} cannot be read: ${messageOf(error)}`)
  }
}

async function main(): Promise<void> {
  const { positionals, values } = readArguments()
  checkAction(USAGE, ALLOWED_OPTIONS, positionals, Object.keys(values), missingName)
  const isWithoutChange = positionals[0] === 'change' && Object.keys(values).length === 0
  if (isWithoutChange) exitWithUsage(USAGE, 'There is nothing to change.')
  const columns = toColumns(values)
  const database = await openDatabase(readSettings(process.env), 'command')
  try {
    const service = new ClientService(database, commandWriter())
    await runAction(service, database, positionals, values, columns)
  } finally {
    await database.close()
  }
}

runCommand(main)
