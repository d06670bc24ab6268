import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { describe, expect, inject, test } from 'vitest'
import { openDatabase } from '../../src/data/database.js'
import { toProblem } from '../../src/data/postgres/errors.js'
import { ProblemError } from '../../src/errors/problem.js'
import { DATABASE_KINDS } from '../support/database.js'

/** A proxy of the server that can stop forwarding, like a server that has vanished from the network. */
async function startProxy() {
  const url = new URL(inject('serverUrl') ?? '')
  const path = join(url.searchParams.get('host') ?? '', '.s.PGSQL.5432')
  const sockets: Socket[] = []
  let isSilent = false
  const server = createServer(client => {
    const upstream = connect(path)
    client.on('data', data => isSilent || upstream.write(data))
    upstream.on('data', data => isSilent || client.write(data))
    for (const socket of [client, upstream]) socket.on('error', () => undefined)
    sockets.push(client, upstream)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo // of a TCP server
  return {
    databaseUrl: `postgresql://postgres@127.0.0.1:${port}/postgres`,
    silence: () => {
      isSilent = true
    },
    close: () => {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}

const toReason = (error: unknown): unknown =>
  error instanceof ProblemError ? error.problems[0] : toProblem(error)

// Without limits each of these waits for the TCP keep-alive, which takes many minutes.
describe.runIf(DATABASE_KINDS.includes('server'))('a server that no longer answers', () => {
  test('ends no wait: statements, transactions, new connections and close fail or end in time', {
    timeout: 120_000,
  }, async () => {
    const proxy = await startProxy()
    const settings = { poolSize: 8, poolWaitMs: 2000, statementTimeoutMs: 2000, dataDir: '' }
    const database = await openDatabase({ ...settings, databaseUrl: proxy.databaseUrl }, 'command')
    const statement = { text: 'select 1 as n', values: [] }
    // Some connections are open before the server vanishes, and one has a transaction.
    let begin = (): void => undefined
    const begun = new Promise<void>(resolve => {
      begin = resolve
    })
    let proceed = (): void => undefined
    const silent = new Promise<void>(resolve => {
      proceed = resolve
    })
    const transaction = database.transaction(async executor => {
      await executor.query(statement)
      begin()
      await silent
      return executor.query(statement)
    })
    const session = database.withClient(async client => {
      await client.query('select 1')
      await silent
    })
    transaction.catch(() => undefined)
    await begun
    await database.prisma.$queryRaw`select 1`
    proxy.silence()
    proceed()
    const results = await Promise.allSettled([
      transaction,
      database.reader.query(statement),
      database.queryControl(statement),
      database.prisma.$queryRaw`select 1`,
      database.withClient(client => client.query('select 1')),
    ])
    expect(results.map(result => result.status)).toEqual(results.map(() => 'rejected'))
    expect(results.map(result => toReason('reason' in result ? result.reason : undefined))).toEqual(
      results.map(() => expect.objectContaining({ kind: 'Unavailable' })),
    )
    await session
    await database.close()
    proxy.close()
  })
})
