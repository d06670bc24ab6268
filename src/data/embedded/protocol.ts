// The frontend/backend protocol of PostgreSQL, version 3 (PostgreSQL documentation, chapter "Frontend/Backend
// Protocol"), restricted to the messages that a server for PGlite needs.

const SSL_REQUEST = 80877103
const GSS_REQUEST = 80877104
const CANCEL_REQUEST = 80877102

/** The key that a client sends to cancel the statement of a session (BackendKeyData). */
export interface BackendKey {
  readonly processId: number
  readonly secretKey: number
}

export type FrontendRequest =
  | { readonly kind: 'encryption' }
  | { readonly kind: 'cancel'; readonly key: BackendKey }
  | { readonly kind: 'startup'; readonly parameters: ReadonlyMap<string, string> }
  /** Messages that require a response, up to a Query, Sync or Flush. */
  | { readonly kind: 'batch'; readonly messages: readonly Buffer[]; readonly lastType: string }
  | { readonly kind: 'end' }

function readStartupParameters(body: Buffer): ReadonlyMap<string, string> {
  const words = body.toString('utf8').split('\0')
  const pairs: [string, string][] = []
  for (let i = 0; i + 1 < words.length && words[i]; i += 2) pairs.push([words[i] ?? '', words[i + 1] ?? ''])
  return new Map(pairs)
}

function toStartupRequest(message: Buffer): FrontendRequest {
  const code = message.readInt32BE(4)
  if (code === SSL_REQUEST || code === GSS_REQUEST) return { kind: 'encryption' }
  if (code === CANCEL_REQUEST && message.length >= 16)
    return { kind: 'cancel', key: { processId: message.readInt32BE(8), secretKey: message.readInt32BE(12) } }
  return { kind: 'startup', parameters: readStartupParameters(message.subarray(8)) }
}

/** Splits the bytes from a client into messages. A chunk may contain part of a message or several. */
export class FrontendRequestReader {
  #buffer: Buffer = Buffer.alloc(0)
  #isStarted = false
  #messages: Buffer[] = []

  read(chunk: Buffer): readonly FrontendRequest[] {
    const requests: FrontendRequest[] = []
    this.#buffer = this.#buffer.length === 0 ? chunk : Buffer.concat([this.#buffer, chunk])
    for (let message = this.#nextMessage(); message; message = this.#nextMessage()) {
      const request = this.#isStarted ? this.#toRequest(message) : toStartupRequest(message)
      if (request?.kind === 'startup') this.#isStarted = true
      if (request) requests.push(request)
    }
    return requests
  }

  /** Only the first messages of a connection have no type byte before their length. */
  #nextMessage(): Buffer | undefined {
    const start = this.#isStarted ? 1 : 0
    if (this.#buffer.length < start + 4) return undefined
    const length = start + this.#buffer.readInt32BE(start)
    if (this.#buffer.length < length) return undefined
    const message = this.#buffer.subarray(0, length)
    this.#buffer = this.#buffer.subarray(length)
    return message
  }

  #toRequest(message: Buffer): FrontendRequest | undefined {
    const type = messageType(message)
    if (type === 'X') return { kind: 'end' }
    this.#messages.push(message)
    if (!'QSHF'.includes(type)) return undefined
    const messages = this.#messages
    this.#messages = []
    return { kind: 'batch', messages, lastType: type }
  }
}

export const messageType = (message: Uint8Array) => String.fromCharCode(message[0] ?? 0)

export function toMessage(type: string, ...texts: readonly string[]): Buffer {
  const body = Buffer.from(texts.map(text => `${text}\0`).join(''))
  const head = Buffer.alloc(5)
  head.write(type, 'latin1')
  head.writeInt32BE(body.length + 4, 1)
  return Buffer.concat([head, body])
}

export const toQueryMessage = (sql: string): Buffer => toMessage('Q', sql)

const toIntegerMessage = (type: string, ...numbers: readonly number[]): Buffer => {
  const message = Buffer.alloc(5 + 4 * numbers.length)
  message.write(type, 'latin1')
  for (const [i, number] of [message.length - 1, ...numbers].entries())
    message.writeInt32BE(number, 1 + 4 * i)
  return message
}

/** ReadyForQuery, not in a transaction. */
const READY_FOR_QUERY = Buffer.from('Z\0\0\0\x05I', 'latin1')

/**
 * The response to a startup message. There is no password, because a user who can open the socket can also
 * read the data files.
 */
export const toStartupResponse = (
  parameters: Readonly<Record<string, string>>,
  { processId, secretKey }: BackendKey,
): Buffer =>
  Buffer.concat([
    toIntegerMessage('R', 0),
    ...Object.entries(parameters).map(([name, value]) => toMessage('S', name, value)),
    toIntegerMessage('K', processId, secretKey),
    READY_FOR_QUERY,
  ])

export const toErrorResponseMessage = (severity: 'ERROR' | 'FATAL', code: string, text: string): Buffer =>
  toMessage('E', `S${severity}`, `V${severity}`, `C${code}`, `M${text}`, '')

/**
 * Returns the transaction status at the end of a response to a Query or Sync: I (idle), T (in a transaction)
 * or E (in a failed transaction). The last message is ReadyForQuery.
 */
export const readTransactionStatus = (output: Uint8Array): string => String.fromCharCode(output.at(-1) ?? 0)

const insertText = (message: Buffer, at: number, text: string): Buffer => {
  const longer = Buffer.concat([message.subarray(0, at), Buffer.from(text), message.subarray(at)])
  longer.writeInt32BE(longer.length - 1, 1)
  return longer
}

/** Returns the offset of the name of a prepared statement in a message. */
function statementNameOffset(message: Buffer): number | undefined {
  const type = messageType(message)
  if (type === 'P') return 5
  if (type === 'B') return message.indexOf(0, 5) + 1
  return (type === 'D' || type === 'C') && message[5] === 'S'.charCodeAt(0) ? 6 : undefined
}

/**
 * Prefixes the name of a prepared statement with the name of the session, because all sessions share one
 * backend. Returns the name that a Parse message defines.
 */
export function prefixStatementName(
  message: Buffer,
  statementPrefix: string,
): { readonly message: Buffer; readonly declared?: string } {
  const at = statementNameOffset(message)
  const end = at === undefined ? -1 : message.indexOf(0, at)
  if (at === undefined || end <= at) return { message }
  const scoped = insertText(message, at, statementPrefix)
  return messageType(message) === 'P'
    ? { message: scoped, declared: statementPrefix + message.toString('utf8', at, end) }
    : { message: scoped }
}
