import { describe, expect, test } from 'vitest'
import { type FindArgs, toFindArgs } from '../../../../src/data/prisma/find-args.js'
import { NotExpressibleError } from '../../../../src/data/prisma/not-expressible.js'
import type { Actor } from '../../../../src/domain/actor.js'
import { authorize } from '../../../../src/domain/authorize.js'
import { DEFAULT_PARSE_LIMITS } from '../../../../src/language/parse-limits.js'
import { getEntity } from '../../../../src/model/model.js'
import { parseQuery, readQueryOptions } from '../../../../src/odata/url/query-options.js'
import { bind } from '../../../../src/query/bind/bind.js'
import type { Plan } from '../../../../src/query/plan.js'
import { readCases } from '../../../support/cases.js'

// Which queries Prisma reads: the forty front-end queries by number, and the cases.

const LIMITS = { pageSize: 100, pageSizeMax: 1000, expandPageMax: 100, topIsTotal: false, expandDepth: 8 }
const SCOPES = new Set(['listings:read'] as const)
const ACTORS: readonly Actor[] = [
  { scopes: SCOPES, audience: 'staff' },
  { scopes: SCOPES, audience: 'member', memberKey: 'M1', officeKey: 'O1' },
  { scopes: SCOPES, audience: 'public' },
]
const REPRESENTATION = { reference: '@odata.id', countSuffix: '@odata.count', numbersAsText: false }

function toPlan(entity: string, options: string, actor: Actor): Plan {
  const query = parseQuery(readQueryOptions(options), 'collection', DEFAULT_PARSE_LIMITS)
  return authorize(bind(query, getEntity(entity), LIMITS), actor, { nonDisclosure: true })
}

const translate = (plan: Plan): FindArgs =>
  toFindArgs(plan, {
    representation: REPRESENTATION,
    parameters: [],
    limit: plan.top,
    fieldReferences: (_entity, field) => `reference to ${field}`,
  })

/** The reason why Prisma cannot read a plan, or undefined. */
function reasonAgainst(plan: Plan): string | undefined {
  try {
    translate(plan)
    return undefined
  } catch (error) {
    if (error instanceof NotExpressibleError) return error.reason
    throw error
  }
}

const SEARCH = "City eq 'Vail' and ListPrice ge 300000 and ListPrice le 900000 and BedroomsTotal ge 3"
const BOX = 'Latitude ge 39 and Latitude le 40 and Longitude ge -106 and Longitude le -105'
const T = '2026-01-01T00:00:00Z'
const POINT = "geography'SRID=4326;POINT(-105 39.7)'"
const POLYGON = "geography'SRID=4326;POLYGON((-106 39,-104 39,-104 40,-106 39))'"
const KEYS = Array.from({ length: 100 }, (_, i) => `'K${i}'`).join(',')

/** The front-end queries by number. */
const QUERIES: readonly (readonly [number: number, options: string, entity?: string])[] = [
  [1, `$filter=${SEARCH}&$orderby=ListPrice desc&$top=20`],
  [2, `$filter=${SEARCH}&$orderby=ModificationTimestamp desc&$top=20`],
  [3, `$filter=${SEARCH}&$orderby=ListPrice desc&$top=20&$count=true`],
  [4, "$filter=StandardStatus eq 'Active'&$orderby=OnMarketDate desc&$top=20"],
  [5, "$filter=StandardStatus eq 'Active'&$orderby=ListPrice&$top=20"],
  [6, "$filter=StandardStatus eq 'Active' and City in ('A','B','C')&$orderby=ListPrice&$top=50"],
  [7, "$filter=StandardStatus eq 'Active'&$orderby=ListPrice div LivingArea&$top=20"],
  [8, "$filter=StandardStatus eq 'Sold' and CloseDate ge 2026-01-01&$orderby=CloseDate desc&$top=50"],
  [9, '$filter=BedroomsTotal ge 4 and BathroomsTotalInteger ge 3&$orderby=BedroomsTotal desc,ListPrice&$top=20'],
  [10, '$filter=YearBuilt ge 2015 and LivingArea ge 2000&$orderby=YearBuilt desc&$top=20'],
  [11, `$filter=${BOX}&$top=500`],
  [12, `$filter=${BOX}&$count=true&$top=0`],
  [13, `$filter=geo.intersects(GeoLocation,${POLYGON})&$top=500`],
  [14, `$filter=geo.distance(GeoLocation,${POINT}) le 5000&$orderby=geo.distance(GeoLocation,${POINT})&$top=20`],
  [15, `$filter=geo.distance(GeoLocation,${POINT}) le 25000 and ListPrice ge 1&$orderby=ListPrice&$top=20`],
  [16, '$search=lake&$top=20'],
  [17, '$search=lake&$count=true&$top=0'],
  [18, "$filter=contains(UnparsedAddress,'Pine')&$orderby=UnparsedAddress&$top=20"],
  [19, "$filter=contains(tolower(UnparsedAddress),'pine')&$top=10"],
  [20, "$filter=startswith(PostalCode,'816')&$top=50"],
  [21, "$filter=tolower(City) eq 'vail'&$top=20"],
  [22, "$filter=ListingId eq 'X'"],
  [22, "$filter=ListingKey eq 'K'"],
  [23, "$filter=ListAgentKey eq 'M'&$orderby=ModificationTimestamp desc&$top=50"],
  [23, "$filter=ListOfficeKey eq 'O'&$orderby=ListPrice"],
  [24, "$filter=ListAgentMlsId eq 'X'"],
  [25, "$filter=ListOffice/OfficeName eq 'North'&$top=20"],
  [26, "$filter=StandardStatus eq 'Active'&$orderby=ListAgent/MemberLastName&$top=20"],
  [27, "$filter=SubdivisionName eq 'X'&$top=20"],
  [28, "$filter=ConstructionMaterials/any(m:m eq 'Log') and Roof/any(m:m eq 'Tile')&$orderby=ListPrice&$top=20"],
  [29, '$filter=Media/any(m:m/Order eq 1)&$top=20'],
  [29, '$filter=PhotosCount gt 0'],
  [30, '$filter=WaterfrontYN eq true and PoolPrivateYN eq true&$orderby=ListPrice&$top=20'],
  [31, '$filter=OpenHouseDate ge 2026-12-01 and OpenHouseDate le 2026-12-07&$orderby=OpenHouseDate', 'OpenHouse'],
  [32, '$filter=OpenHouses/any(o:o/OpenHouseDate ge 2026-12-01)&$top=50'],
  [33, `$filter=ResourceRecordKey in (${KEYS})&$orderby=ResourceRecordKey,Order&$top=1000`, 'Media'],
  [34, `$filter=ListingKey in (${KEYS})&$expand=Media,Rooms`],
  [35, `$filter=ContractStatus eq 'Available' and (ModificationTimestamp gt ${T} or (ModificationTimestamp eq ${T} and ListingKey gt 'K'))&$orderby=ModificationTimestamp,ListingKey&$top=1000`],
  [36, `$filter=ModificationTimestamp gt ${T} or (ModificationTimestamp eq ${T} and MediaKey gt 'K')`, 'Media'],
  [36, `$filter=ModificationTimestamp gt ${T} or MediaChangeTimestamp gt ${T}`],
  [37, `$filter=ModificationTimestamp gt ${T} and StandardStatus in ('Active','Pending') and PropertyType in ('A','B','C')`],
  [38, '$select=ListingKey&$top=1000'],
  [39, "$filter=OfficeKey eq 'O'&$orderby=MemberLastName", 'Member'],
  [39, "$filter=contains(OfficeName,'Realty')", 'Office'],
  [40, "$apply=filter(StandardStatus eq 'Active')/groupby((City),aggregate($count as N))"],
] // biome-ignore format: one row a query

const READ_BY_SQL = new Set([7, 13, 14, 15, 16, 17, 19, 21, 25, 26, 40])

const NAMED_QUERIES = QUERIES.map(([number, options, entity = 'Property']) => ({ number, options, entity }))

/** Query 18 orders by the address, which some records hide from the public. */
const isMaskedOrder = (number: number, { audience }: Actor) => number === 18 && audience === 'public'

describe.each(ACTORS)('to $audience', actor => {
  test.each(NAMED_QUERIES)('front-end query $number: $options', ({ number, options, entity }) => {
    const reason = reasonAgainst(toPlan(entity, encodeURI(options), actor))
    if (READ_BY_SQL.has(number) || isMaskedOrder(number, actor)) expect(reason).toBeDefined()
    else expect(reason).toBeUndefined()
  })
})

/** Reasons that exclude a case by its kind. */
const EXCLUDED_KINDS =
  /^(order by )?(the function|\$search$|\$apply$|computed values$|navigation by a reference without a foreign key$)/

/** Cases of other kinds that Prisma has no arguments for (docs/prisma.md). */
const READ_BY_SQL_CASES =
  'str-049 str-050 lambda-002 lambda-003 lambda-005 lambda-008 lambda-013 lambda-014 lambda-016 lambda-021 lambda-027 lambda-044 lambda-045 lambda-049 lambda-059 expand-037 expand-039 alias-017'

test('the list of cases that Prisma does not read', () => {
  const found = readCases('cases.jsonl').flatMap(({ id, url, method }) => {
    const [path = '', options = ''] = url.split('?', 2)
    const entity = /^\/odata\/([A-Z]\w+)$/.exec(path)?.[1]
    const plan = method === 'GET' && entity ? toPlanOrUndefined(entity, options) : undefined
    const reason = plan && reasonAgainst(plan)
    return reason === undefined || EXCLUDED_KINDS.test(reason) ? [] : [id]
  })
  expect(found.sort()).toEqual(READ_BY_SQL_CASES.split(' ').sort())
})

/** The plan of a case, or undefined if it is refused. */
function toPlanOrUndefined(entity: string, options: string): Plan | undefined {
  try {
    return toPlan(entity, options, { scopes: SCOPES, audience: 'staff' })
  } catch {
    return undefined
  }
}

describe('arguments', () => {
  const whereOf = (filter: string) =>
    translate(toPlan('Property', encodeURI(`$filter=ListingKey ne null and (${filter})`), { scopes: SCOPES, audience: 'staff' })).where

  test.each([
    ['DaysOnMarket lt 7.5', { DaysOnMarket: { lte: 7 } }],
    ['DaysOnMarket lt 9999999999999', { DaysOnMarket: { not: null } }],
    ["City in ('Vail','Avon')", { City: { in: ['Vail', 'Avon'] } }],
    ["'Vail' eq City", { City: { equals: 'Vail' } }],
    ["ConstructionMaterials/any(c:c eq 'Log' or c eq 'Brick')", { ConstructionMaterials: { hasSome: ['Log', 'Brick'] } }],
    ["Media/$count eq 0", { Media: { none: { AND: [] } } }],
    ["contains(City,'V') eq null", { City: null }],
    ['ListPrice lt SoldPrice', { ListPrice: { lt: 'reference to SoldPrice' } }],
    [
      "Rooms/any(r:r/RoomType eq 'Den' and $it/City eq 'Vail')",
      { AND: [{ City: { equals: 'Vail' } }, { Rooms: { some: { RoomType: { equals: 'Den' } } } }] },
    ],
  ])('%s', (filter, where) => {
    expect(JSON.stringify(whereOf(filter))).toContain(JSON.stringify(where))
  })
}) // biome-ignore format: one row a filter
