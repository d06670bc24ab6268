import { createRequire } from 'node:module'
import { Client, Query } from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { submitStatement } from '../../src/data/postgres/query-submittable.js'
import { DATABASE_KINDS, openTestDatabase, type TestDatabase } from '../support/database.js'

// The service uses members of pg that pg does not document (query-submittable.ts, cancel-request.ts,
// fair-pool.ts). package.json therefore pins pg. These tests fail when an update changes one of the members.

const require = createRequire(import.meta.url)

test('package.json names one exact version of pg, and that one is installed', () => {
  const { version } = require('pg/package.json') as { readonly version: string }
  const { dependencies } = require('../../package.json') as {
    readonly dependencies: Readonly<Record<string, string>>
  }
  expect(dependencies['pg']).toBe(version)
})

test('pg calls only those handlers of a query that CachedQuery implements', () => {
  const handlers = Object.getOwnPropertyNames(Query.prototype).filter(name => name.startsWith('handle'))
  expect(handlers.toSorted()).toEqual([
    'handleCommandComplete',
    'handleCopyData',
    'handleCopyInResponse',
    'handleDataRow',
    'handleEmptyQuery',
    'handleError',
    'handlePortalSuspended',
    'handleReadyForQuery',
    'handleRowDescription',
  ])
})

type Member = (...args: readonly unknown[]) => unknown
interface PrivateConnection {
  readonly ssl: unknown
  readonly sslNegotiation: unknown
  readonly parsedStatements: Readonly<Record<string, string>>
  readonly stream: Readonly<Record<'cork' | 'uncork' | 'destroy', Member>>
  readonly [method: string]: unknown
}
interface PrivateClient {
  readonly host: string
  readonly port: number
  readonly processID: number
  readonly secretKey: number
  readonly connection: PrivateConnection
}

/** Numbers of parameters of the methods that the service calls. */
const METHODS = {
  parse: 1,
  bind: 1,
  describe: 1,
  execute: 1,
  sync: 0,
  connect: 2,
  requestSsl: 0,
  cancel: 2,
}

describe('a client that is not connected', () => {
  const { host, port, connection } = new Client({ host: '127.0.0.1', port: 1 }) as unknown as PrivateClient

  test('has an address and a connection', () => {
    expect({ host, port, ssl: connection.ssl }).toEqual({ host: '127.0.0.1', port: 1, ssl: false })
    expect(connection).toHaveProperty('sslNegotiation')
  })

  test.each(Object.entries(METHODS))('connection.%s takes %s parameters', (name, length) =>
    expect(connection[name]).toSatisfy((method: Member) => method.length === length),
  )

  test.each(['cork', 'uncork', 'destroy'] as const)('connection.stream.%s is a method', name =>
    expect(connection.stream[name]).toBeInstanceOf(Function),
  )
})

describe.each(DATABASE_KINDS)('a client of the %s database', kind => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await openTestDatabase(kind, { poolSize: 1 })
  })
  afterAll(() => database?.close())

  test('has the key of its session, and the texts of its statements by name', async () => {
    await database.withClient(async client => {
      const { processID, secretKey, connection } = client as unknown as PrivateClient
      expect([processID, secretKey].every(Number.isInteger)).toBe(true)
      const text = 'select $1::int as "n"'
      const rows = await new Promise((resolve, reject) =>
        submitStatement(client, { text, values: [7] }, 'named', (error, found) =>
          error ? reject(error) : resolve(found),
        ),
      )
      expect(rows).toEqual([{ n: 7 }])
      expect(connection.parsedStatements).toEqual({ named: text })
    })
  })
})
