import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { DATABASE_KINDS, openTestDatabase, type TestDatabase } from '../support/database.js'

// Statements on a connection: a text gets a name at its second use, and the columns of a named statement are
// requested once.

const ODD = `"quoted" \\ back, {brace}, 'single', ä€😀\n\t`

describe.each(DATABASE_KINDS)('statements of the %s database', kind => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await openTestDatabase(kind, { poolSize: 1 })
  })
  afterAll(() => database?.close())

  /** Runs a statement on the writer, which rejects with PostgreSQL's own errors. The reader maps them. */
  const run = (text: string, ...values: readonly unknown[]) => database.writer.query({ text, values })

  test('a repeated statement returns the same values and rows', async () => {
    const text = `select $1::text as "text", $2::int + 1 as "whole", $3::text[] as "list", $4::boolean as "truth", $5::numeric::text as "exact", $6::text as "nothing"`
    const list = ['', 'a,b', '"', '\\', '{}', 'NULL', ODD]
    const row = { text: ODD, whole: 8, list, truth: false, exact: '12345678901234567.89', nothing: null }
    for (let time = 1; time <= 4; time++)
      expect(await run(text, ODD, 7, list, false, '12345678901234567.89', null)).toEqual([row])
    expect(await run(text, '', -1, [], true, '0', 'x')).toEqual([
      { text: '', whole: 0, list: [], truth: true, exact: '0', nothing: 'x' },
    ])
  })

  test('a result without rows, and one with many rows', async () => {
    const text = 'select n::int as "n" from generate_series(1, $1::int) n'
    for (const count of [0, 3, 0, 2])
      expect(await run(text, count)).toEqual(Array.from({ length: count }, (_, i) => ({ n: i + 1 })))
  })

  test('a failed statement, named or not, leaves its connection unchanged', async () => {
    const text = 'select (10 / $1::int) as "share"'
    for (let time = 1; time <= 4; time++) {
      await expect(run(text, 0)).rejects.toMatchObject({ code: '22012' })
      expect(await run(text, 5)).toEqual([{ share: 2 }])
    }
    for (let time = 1; time <= 3; time++)
      await expect(run('select nonsense from nowhere')).rejects.toMatchObject({ code: '42P01' })
  })

  test('an error has the stack of its caller', async () => {
    const error = await run('select 1 / 0').catch((error: unknown) => error)
    expect(error).toMatchObject({ stack: expect.stringContaining('FairPool.query') })
  })

  test('concurrent requests get their own results', async () => {
    const asked = Array.from({ length: 20 }, (_, i) => i)
    expect(await Promise.all(asked.map(i => run('select $1::int as "i"', i)))).toEqual(
      asked.map(i => [{ i }]),
    )
  })

  test('Prisma runs the same statements', async () => {
    const text = 'select $1::text as "word"'
    const byPrisma = (word: string) => database.prisma.$queryRawUnsafe(text, word)
    for (const word of ['a', 'b', 'c'])
      expect([await byPrisma(word), await run(text, word), await byPrisma(word)]).toEqual(
        Array(3).fill([{ word }]),
      )
  })
})

describe.runIf(DATABASE_KINDS.includes('server'))('connections with generic plans', () => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await openTestDatabase('server', { poolSize: 6 })
  })
  afterAll(() => database?.close())

  test('share a burst with the other connections', async () => {
    const asked = Array.from({ length: 60 }, (_, i) => i)
    const answers = await Promise.all(
      asked.map(i =>
        database.reader.query(
          { text: 'select $1::int as "i", current_setting(\'plan_cache_mode\') as "mode"', values: [i] },
          'generic',
        ),
      ),
    )
    expect(new Set(answers.map(([row]) => (row as { mode: string }).mode))).toEqual(
      new Set(['force_generic_plan', 'force_custom_plan']),
    )
  })
})
