import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openDatabase } from '../../src/data/database.js'
import { isRetryable, toProblem } from '../../src/data/postgres/errors.js'
import { DATABASE_KINDS, openTestDatabase, type TestDatabase } from '../support/database.js'

const raise = (state: string) =>
  `do $$ begin raise exception using errcode = '${state}', message = 'raised by the test'; end $$`

describe.each(DATABASE_KINDS)('failures of the %s database', kind => {
  let database: TestDatabase

  beforeAll(async () => {
    database = await openTestDatabase(kind, { poolSize: 1, poolWaitMs: 2000 })
  })
  afterAll(() => database.close())

  it.each([
    ['55P03', { kind: 'Unavailable', reason: 'busy', wait: 'lock' }],
    ['53300', { kind: 'Unavailable', reason: 'busy', wait: 'connection' }],
    ['57014', { kind: 'Unavailable', reason: 'timeout', wait: 'statement' }],
    ['57P01', { kind: 'Unavailable', reason: 'database' }],
    ['08006', { kind: 'Unavailable', reason: 'database' }],
    ['40001', { kind: 'Conflict' }],
    ['40P01', { kind: 'Conflict' }],
    ['22003', { kind: 'ImpossibleValue' }],
    ['22012', { kind: 'ImpossibleValue' }],
    ['23514', { kind: 'ImpossibleValue' }],
    ['54001', { kind: 'BadRequest' }],
  ])('SQLSTATE %s', async (state, problem) => {
    const direct = await database.prisma.$executeRawUnsafe(raise(state)).catch((error: unknown) => error)
    const inTransaction = await database.prisma
      .$transaction(tx => tx.$executeRawUnsafe(raise(state)))
      .catch((error: unknown) => error)
    expect(toProblem(direct)).toMatchObject(problem)
    expect(toProblem(inTransaction)).toMatchObject(problem)
    expect(isRetryable(direct)).toBe(problem.kind === 'Conflict')
  })

  it.each([
    ['a number that is too large', 'select $1::int + $1::int', 2_147_483_647],
    ['a text with a zero byte', 'select $1::text', 'a\0b'],
    ['a date out of range', 'select $1::text::timestamptz', '300000-01-01'],
  ])('%s is an error of the request', async (_, sql, value) => {
    const error = await database.prisma.$queryRawUnsafe(sql, value).catch((e: unknown) => e)
    expect(toProblem(error)).toMatchObject({ kind: 'ImpossibleValue' })
  })

  it('an invalid statement is an internal error', async () => {
    const error = await database.prisma.$queryRawUnsafe('select nonsense').catch((e: unknown) => e)
    expect(error).toBeInstanceOf(Error)
    expect(toProblem(error)).toBeUndefined()
  })

  it('a wait for a connection times out, and the error names the wait', async () => {
    let release = () => {}
    let holding: Promise<unknown> | undefined
    await new Promise<void>((begun, failed) => {
      const hold = () =>
        new Promise<void>(resolve => {
          release = resolve
          begun()
        })
      holding = database.transaction(hold)
      holding.catch(failed)
    })
    const statement = { text: 'select 1', values: [] }
    const [query, transaction] = await Promise.all([
      database.reader.query(statement).catch((e: unknown) => e),
      database.transaction(executor => executor.query(statement)).catch((e: unknown) => e),
    ])
    release()
    await holding
    for (const error of [query, transaction])
      expect(error).toMatchObject({
        problems: [{ kind: 'Unavailable', reason: 'busy' }],
        cause: {
          message: expect.stringMatching(/^waited \d{3,} ms, most recently for a database connection/),
        },
      })
    expect(await database.reader.query(statement)).toHaveLength(1)
  })
})

it('a server that cannot be reached', async () => {
  const settings = {
    databaseUrl: 'postgresql://postgres@127.0.0.1:1/none',
    dataDir: '',
    poolSize: 1,
    poolWaitMs: 2_000,
    statementTimeoutMs: 1_000,
  }
  const error = await openDatabase(settings, 'service').catch((e: unknown) => e)
  expect(toProblem(error)).toEqual({ kind: 'Unavailable', reason: 'database' })
})
