import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestApp, type TestApp } from '../../support/app.js'

// Messages that must suggest a correction or name the unsupported feature.

describe('messages', () => {
  let app: TestApp
  beforeAll(async () => {
    app = await startTestApp()
  })
  afterAll(() => app?.close())

  const errorOf = async (target: string) => {
    const { status, json } = await app.send(target)
    const { error } = json as { readonly error: { readonly code: string; readonly message: string } } // the form of errors
    return { status, code: error.code, message: error.message }
  }
  const query = (option: string, text: string) => `/odata/Property?${option}=${encodeURIComponent(text)}`

  test.each([
    ['/odata/Properties', "Did you mean 'Property'?"],
    ['/odata/property', "Did you mean 'Property'?"],
    ['/odata/Members', "Did you mean 'Member'?"],
    ["/odata/Propertys('K')", "Did you mean 'Property'?"],
    ['/odata/$metdata', "Did you mean '$metadata'?"],
    ["/odata/Property('K')/Medias", "Did you mean 'Media'?"],
    ["/odata/Property('K')/ListprIce", "Did you mean 'ListPrice'?"],
  ])('a misspelled resource: %s', async (target, suggestion) => {
    const { status, message } = await errorOf(target)
    expect([status, message]).toEqual([404, expect.stringContaining(suggestion)])
  })

  test('a name without a similar one has no suggestion', async () => {
    expect((await errorOf('/odata/Zzz')).message).toBe("There is no resource 'Zzz'.")
  })

  test.each([
    [
      'ModificationTimestamp gt 2024-01-01',
      'Write ModificationTimestamp gt 2024-01-01T00:00:00Z, or compare days: date(ModificationTimestamp) gt 2024-01-01.',
    ],
    [
      '2024-01-01 lt ModificationTimestamp',
      'Write 2024-01-01T00:00:00Z lt ModificationTimestamp, or compare days: 2024-01-01 lt date(ModificationTimestamp).',
    ],
    ['OnMarketDate gt 2024-01-01T08:00:00Z', 'Write a date: 2024-01-01.'],
    ["ModificationTimestamp gt '2024-01-01'", 'Write a timestamp without quotes: 2024-05-01T00:00:00Z.'],
    ["ListPrice gt '5'", 'Write a number without quotes.'],
    ['City eq 5', "Write a string in quotes: '5'."],
    ["GarageYN eq 'true'", 'Write true or false without quotes.'],
  ])('a literal of another type: %s', async (filter, hint) => {
    const { status, code, message } = await errorOf(query('$filter', filter))
    expect([status, code, message]).toEqual([400, '2004', expect.stringContaining(hint)])
  })

  test.each([
    ['$filter', '[City,StreetName] in [["Vail","AxB Lane"]]', 'a list of fields before in'],
    ['$filter', '$these/aggregate(ListPrice with max) eq ListPrice', '$these'],
    ['$filter', 'Rooms/aggregate(RoomArea with max) gt 1', 'aggregate in an expression'],
    ['$filter', "City@Core.Permissions eq 'None'", 'the annotation @Core.Permissions in an expression'],
    ['$filter', "City/@Core.Description eq 'x'", 'the annotation @Core.Description in an expression'],
    ['$filter', '@Core.ContentType eq null', 'the annotation @Core.ContentType in an expression'],
    ['$orderby', '@Core.Rank desc', 'the annotation @Core.Rank in an expression'],
    ['$select', '@Core.Rank', 'the annotation @Core.Rank in $select'],
    ['$expand', 'Media($apply=aggregate($count as N))', '$apply in $expand'],
    ['$apply', 'groupby((rolluprecursive($root/Regions,RegionHierarchy,City)))', 'rolluprecursive'],
    ['$apply', 'groupby((rollup(StateOrProvince,City)))', 'rollup'],
    ['$apply', 'aggregate(ListPrice with median as M)', 'the method median'],
    ['$apply', 'aggregate(ListPrice with custom.mode as M)', 'the method custom.mode'],
    ['$apply', 'topcount(3,ListPrice)', 'topcount'],
  ])('the message names an unsupported feature: %s=%s', async (option, text, feature) => {
    const { status, code, message } = await errorOf(query(option, text))
    expect([status, code, message]).toEqual([
      501,
      '2101',
      expect.stringContaining(`The service does not implement ${feature} (at position `),
    ])
  })

  test('groupby of an expression points to compute', async () => {
    const { status, message } = await errorOf(query('$apply', 'groupby((year(ListingContractDate)))'))
    expect([status, message]).toEqual([
      400,
      expect.stringContaining('compute(year(ListingContractDate) as Year)/groupby((Year))'),
    ])
    const { status: ok } = await app.send(
      query('$apply', 'compute(year(ListingContractDate) as Year)/groupby((Year))'),
    )
    expect(ok).toBe(200)
  })

  test('the refusal of a search that ends with an operator explains how to search for the word', async () => {
    const { status, message } = await errorOf(query('$search', 'Portland OR'))
    expect([status, message]).toEqual([400, expect.stringContaining('"OR"')])
    expect((await app.send(query('$search', 'Portland "OR"'))).status).toBe(200)
    expect((await app.send('/odata/Property?$search=lake%3Bhouse')).status).toBe(200)
  })
})
