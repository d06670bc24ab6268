import { readFileSync } from 'node:fs'
import { type Config, readConfig } from '../config/config.js'
import { type Database, openDatabase } from '../data/database.js'
import { readDeliveries } from '../data/webhooks/delivery-log.js'
import type { WebhookDetails } from '../data/webhooks/webhook-store.js'
import { maskUrl } from '../domain/webhooks/address.js'
import { ClientService } from '../service/clients/clients.js'
import { sendTestMessage } from '../service/webhooks/test-message.js'
import { createWebhookSettings } from '../service/webhooks/webhook-settings.js'
import {
  DEFAULT_OVERLAP_HOURS,
  WebhookService,
  type WebhookValues,
  type WebhookWithSecret,
} from '../service/webhooks/webhooks.js'
import { checkAction, commandWriter, exitWithUsage, parseCommandLine, runCommand } from './command.js'

// npm run webhooks: manages subscriptions to the change log (docs/webhooks.md). A secret is printed only
// once, when it is created.

const USAGE = `usage: npm run webhooks -- add CLIENT --url URL [--entity NAME [--filter FILTER]] [--from now|NUMBER] [--source TEXT] [--token-file FILE] | list [--client CLIENT] | show WEBHOOK | change WEBHOOK [--url URL] [--source TEXT] [--token-file FILE] | rotate WEBHOOK [--overlap HOURS | --end] | pause WEBHOOK | resume WEBHOOK [--from now|NUMBER] | resend WEBHOOK | skip WEBHOOK | test WEBHOOK | log WEBHOOK [--limit N] | remove WEBHOOK

  CLIENT        id or name of a client (npm run clients)
  --url         https address that events are posted to
  --entity      the resource whose events are sent, such as Property; all by default
  --filter      an OData filter on the fields of that resource
  --from        events above this number of the change log are sent; now: those after the last one
  --source      value of the header EntityEventSource; none clears it
  --token-file  file with a bearer token that the receiver requires; none clears it
  --overlap     hours for which the old secret still signs, ${DEFAULT_OVERLAP_HOURS} by default
  --end         the old secret no longer signs
  --limit       attempts of the delivery log, 20 by default

test sends a signed message without events, of the type test. It fails unless the receiver accepts it.`

const OPTIONS = {
  url: { type: 'string' },
  entity: { type: 'string' },
  filter: { type: 'string' },
  from: { type: 'string' },
  source: { type: 'string' },
  'token-file': { type: 'string' },
  client: { type: 'string' },
  overlap: { type: 'string' },
  end: { type: 'boolean' },
  limit: { type: 'string' },
} as const

/** The options that each action takes. */
const ALLOWED_OPTIONS: Readonly<Record<string, readonly string[]>> = {
  add: ['url', 'entity', 'filter', 'from', 'source', 'token-file'],
  list: ['client'],
  show: [],
  change: ['url', 'source', 'token-file'],
  rotate: ['overlap', 'end'],
  pause: [],
  resume: ['from'],
  resend: [],
  skip: [],
  test: [],
  log: ['limit'],
  remove: [],
}
const DEFAULT_LIMIT = 20

const readArguments = () => parseCommandLine(USAGE, { options: OPTIONS, allowPositionals: true })

type WebhookArguments = ReturnType<typeof readArguments>['values']

const missingName = (action: string): string | undefined => {
  if (action === 'list') return undefined
  return action === 'add' ? 'The client is missing.' : 'The id of the webhook is missing.'
}

function checkArguments(positionals: readonly string[], values: WebhookArguments): void {
  const [action] = positionals
  checkAction(USAGE, ALLOWED_OPTIONS, positionals, Object.keys(values), missingName)
  if (action === 'add' && values.url === undefined) exitWithUsage(USAGE, 'The option --url is missing.')
  if (action === 'change' && Object.keys(values).length === 0)
    exitWithUsage(USAGE, 'There is nothing to change.')
}

function readNumber(option: 'overlap' | 'limit', text: string | undefined, fallback: number): number {
  if (text === undefined) return fallback
  return /^\d{1,4}$/.test(text)
    ? Number(text)
    : exitWithUsage(USAGE, `--${option} is '${text}'; expected a number from 0 to 9999.`)
}

const print = (text: string): void => void process.stdout.write(text)
const printJson = (value: unknown): void => print(`${JSON.stringify(value, undefined, 2)}\n`)

/** The path and the query of a URL may contain a secret. */
const toShown = (webhook: WebhookDetails) => ({ ...webhook, Url: maskUrl(webhook.Url) })

function printWithSecret({ webhook, secret }: WebhookWithSecret): void {
  printJson(toShown(webhook))
  print(`webhook id: ${webhook.WebhookId}\nsecret:     ${secret}\n`)
  process.stderr.write('The secret cannot be shown again. Send it over a secure channel.\n')
}

/** Returns the state as text, with the reason why nothing is sent. */
function describeState({ State, IsClientActive, FailingSinceTimestamp }: WebhookDetails): string {
  if (State !== 'active') return State
  if (!IsClientActive) return 'active, but its client may not receive events'
  return FailingSinceTimestamp === null ? 'active' : `active, failing since ${FailingSinceTimestamp}`
}

const renderList = (webhooks: readonly WebhookDetails[]): string =>
  webhooks
    .map(webhook => {
      const { WebhookId, ClientId, Url, ResourceName, Position, Lag } = webhook
      const selection = [ResourceName ?? 'all', webhook.Filter ?? ''].filter(Boolean).join(' ')
      const cells = [
        WebhookId,
        describeState(webhook),
        ClientId,
        maskUrl(Url),
        selection,
        `position ${Position}`,
        `lag ${Lag}`,
      ]
      return `${cells.join('\t')}\n`
    })
    .join('')

const readToken = (path: string): string | null => {
  if (path === 'none') return null
  return readFileSync(path, 'utf8').trim()
}

function toValues({ url, source, 'token-file': tokenFile }: WebhookArguments): WebhookValues {
  return {
    ...(url !== undefined && { url }),
    source: source === 'none' ? null : source,
    token: tokenFile === undefined ? undefined : readToken(tokenFile),
  }
}

/** Sends a test message. Fails if it is not accepted. */
async function sendTest(config: Config, database: Database, id: string): Promise<void> {
  const { webhookEncryption: encryptionKey, webhookPrivateAddresses, webhookTimeoutMs: timeoutMs } = config
  const settings = { allowsPrivate: webhookPrivateAddresses, timeoutMs }
  const result = await sendTestMessage({ database, encryptionKey, settings }, id)
  printJson(result)
  if (!result.isDelivered) throw new Error(`The test message was not accepted: ${result.reason}.`)
}

async function runAction(
  service: WebhookService,
  clients: ClientService,
  database: Database,
  [action = '', name = '']: readonly string[],
  values: WebhookArguments,
): Promise<void> {
  if (action === 'list') {
    const client = values.client === undefined ? undefined : await clients.find(values.client)
    return print(renderList(await service.list(client?.ClientId)))
  }
  if (action === 'add') {
    const { entity: resourceName, filter, from } = values
    const url = values.url ?? ''
    const { ClientId: clientId } = await clients.find(name)
    return printWithSecret(
      await service.add({ ...toValues(values), url, clientId, resourceName, filter, from }),
    )
  }
  if (action === 'rotate' && !values.end)
    return printWithSecret(
      await service.rotate(name, readNumber('overlap', values.overlap, DEFAULT_OVERLAP_HOURS)),
    )
  if (action === 'log') {
    const { WebhookId } = await service.find(name)
    const limit = readNumber('limit', values.limit, DEFAULT_LIMIT)
    for (const row of await readDeliveries(database.reader, WebhookId, limit))
      print(`${JSON.stringify(row)}\n`)
    return
  }
  printJson(toShown(await changeOrShow(service, action, name, values)))
}

function changeOrShow(
  service: WebhookService,
  action: string,
  id: string,
  values: WebhookArguments,
): Promise<WebhookDetails> {
  if (action === 'change') return service.change(id, toValues(values))
  if (action === 'rotate') return service.endRotation(id)
  if (action === 'pause') return service.pause(id)
  if (action === 'resume') return service.resume(id, values.from)
  if (action === 'resend') return service.resend(id)
  if (action === 'skip') return service.skip(id)
  if (action === 'remove') return service.remove(id)
  return service.find(id)
}

async function main(): Promise<void> {
  const { positionals, values } = readArguments()
  checkArguments(positionals, values)
  const config = readConfig(process.env)
  const database = await openDatabase(config, 'command')
  try {
    const actor = commandWriter()
    const clients = new ClientService(database, actor)
    const [action, name = ''] = positionals
    if (action === 'test') await sendTest(config, database, name)
    else
      await runAction(
        new WebhookService({ ...createWebhookSettings(config), database, actor }),
        clients,
        database,
        positionals,
        values,
      )
  } finally {
    await database.close()
  }
}

runCommand(main)
