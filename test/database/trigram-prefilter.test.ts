import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readPage } from '../../src/data/read/read-records.js'
import { TRIGRAM_INDEXES } from '../../src/data/sql/indexes.js'
import { DATABASE_KINDS, openTestDatabase, type TestDatabase } from '../support/database.js'
import { ODATA_REPRESENTATION, toPlan } from '../support/oracle/plans.js'

// A case-sensitive search uses the index of texts in lower case. It must not miss a
// record, whatever the letters.

const ADDRESSES = [
  '12 Pine Street', '12 PINE STREET', '12 pine street', '7 Pinecone Way', '100% Pine_Road', '100 Pine Road', String.raw`5\6 Pine \% Road`,
  'ΟΔΟΣ 12', 'ΟΔΟΣΑ 12', 'οδος 12', 'οδοσ 12', 'ΣΑΣ', 'İstanbul Caddesi', 'ISTANBUL Caddesi', 'ıstanbul caddesi', 'Straße 9', 'STRASSE 9', 'STRAẞE 9',
  'Łódź ǅ 3', 'Cafe\u0301 Road', 'Caf\u00e9 Road', '😀 Lane', 'Ab', "O'Hara", '',
] // biome-ignore format: words

const quote = (text: string) => `'${text.replaceAll("'", "''")}'`

/** Parts of the addresses: the whole text, each word, and substrings that begin and end within words. */
const partsOf = (address: string): readonly string[] => {
  const characters = Array.from(address)
  return [address, ...address.split(' '), characters.slice(1, 5).join(''), characters.slice(-4).join(''), characters.slice(2, 4).join('')]
} // biome-ignore format: one array
const PARTS = [...new Set(ADDRESSES.flatMap(partsOf))].filter(part => part !== '')

const REFERENCES: Readonly<Record<string, (text: string, part: string) => boolean>> = {
  contains: (text, part) => text.includes(part),
  startswith: (text, part) => text.startsWith(part),
  endswith: (text, part) => text.endsWith(part),
}

describe.each(DATABASE_KINDS)('%s', kind => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await openTestDatabase(kind)
    for (const [i, UnparsedAddress] of ADDRESSES.entries())
      await database.prisma.property.create({
        data: { ListingKey: `K${String(i).padStart(2, '0')}`, UnparsedAddress, StreetName: UnparsedAddress },
      })
  })
  afterAll(() => database?.close())

  async function addressesWhere(filter: string): Promise<readonly string[]> {
    const plan = toPlan(`$filter=${filter}&$select=UnparsedAddress&$top=1000`)
    const { records } = await readPage(database.reader, plan, ODATA_REPRESENTATION)
    return records.list.map(({ json }) => JSON.parse(json).UnparsedAddress)
  }

  for (const [name, reference] of Object.entries(REFERENCES))
    for (const field of TRIGRAM_INDEXES['Property'] ?? [])
      test(`${name} of ${field} finds all texts, in any letters`, async () => {
        for (const part of PARTS)
          expect([part, await addressesWhere(`${name}(${field},${quote(part)})`)]).toEqual([
            part,
            ADDRESSES.filter(address => reference(address, part)),
          ])
      })

  test('eq matches only the exact text, on either side, and its negation the others', async () => {
    for (const address of ADDRESSES) {
      expect(await addressesWhere(`UnparsedAddress eq ${quote(address)}`)).toEqual([address])
      expect(await addressesWhere(`${quote(address)} eq UnparsedAddress`)).toEqual([address])
      expect(await addressesWhere(`not (UnparsedAddress eq ${quote(address)})`)).toEqual(
        ADDRESSES.filter(other => other !== address),
      )
    }
  })
})
