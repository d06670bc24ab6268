import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { DATABASE_KINDS } from '../../support/database.js'
import { startTestService, type TestService } from '../../support/test-service.js'

const MIGRATION = new URL(
  '../../../prisma/superseded/20261202500000_search_letters/migration.sql',
  import.meta.url,
)

describe.each(DATABASE_KINDS)('$search on the %s database', kind => {
  let service: Awaited<ReturnType<typeof startTestService>>
  let { given, keys }: TestService = {} as TestService // set before the first test
  beforeAll(async () => {
    service = await startTestService({ kind })
    ;({ given, keys } = service)
  })
  afterAll(() => service?.close())

  const find = async (expected: Readonly<Record<string, readonly number[]>>) => {
    for (const [search, numbers] of Object.entries(expected))
      expect([search, await keys(`$orderby=ListingKey&$search=${encodeURIComponent(search)}`)]).toEqual([
        search,
        numbers.map(n => `L00${n}`),
      ])
  }

  test('NEW-13 composed and decomposed letters are equal, and words without accents find those with them', async () => {
    await given(
      ['Montréal', 'Montre\u0301al', 'Montreal', 'MONTRÉAL', 'Cañon City', 'São José do Rio', 'Čačak'].map(
        City => ({ City }),
      ),
    )
    await find({
      Montreal: [1, 2, 3, 4],
      montreal: [1, 2, 3, 4],
      MONTREAL: [1, 2, 3, 4],
      Montréal: [1, 2, 4],
      montréal: [1, 2, 4],
      'Montre\u0301al': [1, 2, 4],
      MONTRÉAL: [1, 2, 4],
      'Montreal NOT Montréal': [3],
      canon: [5],
      '"canon city"': [5],
      '"cañon city"': [5],
      '"city canon"': [],
      '"sao jose do rio"': [6],
      '"São José do"': [6],
      'Sao José': [6],
      cacak: [7],
      Čačak: [7],
      Čacak: [],
    })
  })

  test('the migration indexes listings with such letters again', async () => {
    await given(['Montre\u0301al', 'Vail'].map(City => ({ City })))
    const migration = await readFile(MIGRATION, 'utf8')
    const [update = ''] = /^UPDATE "PropertyText"[^;]*;/m.exec(migration) ?? []
    await service.database.withClient(async client => {
      await client.query(`alter table "PropertyText" disable trigger keep_search_text`)
      await client.query(`update "PropertyText" set "SearchText" = to_tsvector('simple', 'old')`)
      await client.query(`alter table "PropertyText" enable trigger keep_search_text`)
      await client.query(update)
    })
    await find({ Montréal: [1], montreal: [1], old: [2] })
  })

  test('letters of other scripts in any case', async () => {
    await given(['ΑΘΗΝΑ', 'Αθήνα', 'МОСКВА', 'Straße'].map(City => ({ City })))
    await find({ αθηνα: [1, 2], Αθήνα: [2], москва: [3], straße: [4] })
  })

  test('a semicolon inside a word, and operators in quotes', async () => {
    await given(['Lake;House', 'Portland OR', 'Portland ME'].map(City => ({ City })))
    await find({ 'Lake;House': [1], 'Portland "OR"': [2], 'Portland or': [2] })
    await service.refused('$search=Portland%20OR', '$search=foo%20AND', '$search=NOT')
  })
})
