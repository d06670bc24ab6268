import { format } from 'sql-formatter'
import { describe, expect, test } from 'vitest'
import { countRecords, readFirstRecord, readPage } from '../../src/data/read/read-records.js'
import type { PlanCacheMode, Statement, StatementExecutor } from '../../src/data/sql/statement.js'
import {
  toDeleteStatement,
  toInsertStatement,
  toRuleInputsStatement,
  toUpdateStatement,
} from '../../src/data/sql/write-statements.js'
import type { Actor } from '../../src/domain/actor.js'
import { type ListingChanges, NO_CHANGES } from '../../src/domain/listing-changes.js'
import { toWritePlan } from '../../src/domain/write-plan.js'
import { shapeOf, toParameters, type WriteRequest } from '../../src/domain/write-shape.js'
import type { Plan } from '../../src/query/plan.js'
import { ODATA_REPRESENTATION, toAuthorizedPlan, toPlan } from '../support/oracle/plans.js'

// The SQL of every kind of plan, one file each. A change of SQL shows in the diff of these files.
// `npx vitest run test/sql -u` rewrites them.

const STAFF: Actor = { scopes: new Set(['listings:read']), audience: 'staff' }
const PUBLIC: Actor = { scopes: new Set(['listings:read']), audience: 'public' }
const AGENT: Actor = {
  scopes: new Set(['listings:read']),
  audience: 'member',
  memberKey: 'M1',
  officeKey: 'O1',
}

interface SentStatement extends Statement {
  readonly planCacheMode: PlanCacheMode | undefined
}

/** Runs a read against an executor that answers every statement with no row, and returns the statements. */
async function statementsOf(
  read: (executor: StatementExecutor) => Promise<unknown>,
): Promise<readonly SentStatement[]> {
  const sent: SentStatement[] = []
  await read({
    query: async ({ text, values }, planCacheMode) => {
      sent.push({ text, values, planCacheMode })
      return []
    },
  })
  return sent
}

const print = ({ text, values, planCacheMode }: SentStatement): string =>
  [
    `-- plan_cache_mode: ${planCacheMode ?? 'custom'}`,
    ...values.map((value, i) => `-- $${i + 1} = ${JSON.stringify(value)}`),
    format(text, { language: 'postgresql', keywordCase: 'preserve', expressionWidth: 100 }),
    '',
  ].join('\n')

async function expectGolden(
  name: string,
  title: string,
  statements: readonly SentStatement[],
): Promise<void> {
  expect(statements.length).toBeGreaterThan(0)
  await expect([`-- ${title}\n`, ...statements.map(print)].join('\n')).toMatchFileSnapshot(`${name}.sql`)
}

interface ReadCase {
  readonly file: string
  readonly query: string
  readonly entity?: string
  readonly actor?: Actor
  readonly change?: Partial<Plan>
}

const FEW = '$select=ListingKey,City,ListPrice'

// biome-ignore format: table
const READS: readonly ReadCase[] = [
  { file: 'page-by-key-order', query: `${FEW}&$top=50` },
  { file: 'page-whole-records', query: '$top=50' },
  { file: 'page-with-count', query: `${FEW}&$filter=City eq 'Austin'&$count=true&$top=50` },
  { file: 'page-after-cursor', query: `${FEW}&$orderby=ListPrice desc&$top=50`, change: { after: ['500000', 'L1'] } },
  { file: 'page-after-null-cursor', query: `${FEW}&$orderby=CloseDate,ListPrice&$top=50`, change: { after: [null, '500000', 'L1'] } },
  { file: 'page-before-cursor', query: `${FEW}&$orderby=ListPrice&$top=50`, change: { before: ['500000', 'L1'] } },
  { file: 'page-skip', query: `${FEW}&$orderby=ListPrice&$skip=20&$top=10` },
  { file: 'replication-page', query: `$filter=ModificationTimestamp gt 2026-01-01T00:00:00Z or (ModificationTimestamp eq 2026-01-01T00:00:00Z and ListingKey gt 'L1')&$orderby=ModificationTimestamp,ListingKey&$top=1000` },
  { file: 'filter-comparisons', query: `${FEW}&$filter=City eq 'Austin' and (BedroomsTotal ge 3 or ListPrice lt 500000) and not (PoolPrivateYN eq true)` },
  { file: 'filter-null', query: `${FEW}&$filter=CloseDate eq null and City ne null` },
  { file: 'filter-in', query: `${FEW}&$filter=StandardStatus eq 'Active' and City in ('Austin','Vail')&$orderby=ListPrice&$top=50` },
  { file: 'filter-year', query: `${FEW}&$filter=year(OnMarketDate) eq 2024` },
  { file: 'filter-below-microseconds', query: `${FEW}&$filter=ModificationTimestamp gt 2026-01-01T00:00:00.0009999999Z and ModificationTimestamp add duration'PT0.0000001S' lt 2026-02-01T00:00:00Z` },
  { file: 'filter-contains', query: `${FEW}&$filter=contains(tolower(UnparsedAddress),'pine')&$orderby=UnparsedAddress&$top=20` },
  { file: 'filter-functions', query: `${FEW}&$filter=round(ListPrice div LivingArea) gt 200 and length(trim(City)) lt 8 and DaysOnMarket mod 7 eq 1` },
  { file: 'filter-any-of-values', query: `${FEW}&$filter=ConstructionMaterials/any(m:m eq 'Log')` },
  { file: 'filter-any-of-records', query: `${FEW}&$filter=Media/any(m:m/Order eq 1 and m/MediaCategory eq 'Photo')` },
  { file: 'filter-all-of-records', query: `${FEW}&$filter=Rooms/all(r:r/RoomLevel eq 'Main')` },
  { file: 'filter-count-of-records', query: `${FEW}&$filter=Media/$count gt 5` },
  { file: 'filter-by-navigation', query: `${FEW}&$filter=ListOffice/OfficeName eq 'North'&$top=20` },
  { file: 'order-by-navigation', query: `${FEW}&$orderby=ListAgent/MemberLastName&$top=20` },
  { file: 'order-by-expression', query: `${FEW}&$orderby=ListPrice div LivingArea&$top=20` },
  { file: 'compute', query: `$compute=ListPrice div 1000 as Thousands&$select=ListingKey,Thousands&$top=20` },
  { file: 'search', query: `${FEW}&$search=lake OR "mountain view"&$top=20` },
  { file: 'geo-distance', query: `${FEW}&$filter=geo.distance(GeoLocation,geography'SRID=4326;POINT(-106.37 39.64)') le 5000&$orderby=geo.distance(GeoLocation,geography'SRID=4326;POINT(-106.37 39.64)')&$top=20` },
  { file: 'geo-intersects', query: `${FEW}&$filter=geo.intersects(GeoLocation,geography'SRID=4326;POLYGON((-107 39,-106 39,-106 40,-107 40,-107 39))')&$top=20` },
  { file: 'map-box', query: `${FEW}&$filter=Latitude ge 39.6 and Latitude le 39.7 and Longitude ge -106.4 and Longitude le -106.3&$top=500` },
  { file: 'expand-one', query: `${FEW}&$expand=ListAgent($select=MemberKey,MemberLastName)&$top=20` },
  { file: 'expand-many', query: `${FEW}&$expand=Media($select=MediaKey,MediaURL;$filter=MediaCategory eq 'Photo';$orderby=Order;$top=3;$count=true)&$top=20` },
  { file: 'expand-nested', query: '$select=ListingKey&$expand=ListAgent($select=MemberKey;$expand=Media($select=MediaKey;$top=2))&$top=5' },
  { file: 'apply-groupby', query: `$apply=filter(StandardStatus eq 'Active')/groupby((City),aggregate($count as N,ListPrice with average as Mean))` },
  { file: 'media-of-listings', query: `$filter=ResourceRecordKey in ('L1','L2','L3')&$orderby=ResourceRecordKey,Order&$top=1000`, entity: 'Media' },
  { file: 'visibility-public', query: `${FEW}&$top=50`, actor: PUBLIC },
  { file: 'visibility-agent', query: `${FEW}&$top=50`, actor: AGENT },
  { file: 'visibility-media-public', query: '$select=MediaKey&$top=50', entity: 'Media', actor: PUBLIC },
  { file: 'event-log-public', query: '$filter=EntityEventSequence gt 100&$top=100', entity: 'EntityEvent', actor: PUBLIC },
]

describe('reads', () => {
  test.each(READS)('$file', async ({ file, query, entity = 'Property', actor = STAFF, change = {} }) => {
    const plan = {
      ...(actor === STAFF ? toPlan(query, entity) : toAuthorizedPlan(actor, query, entity)),
      ...change,
    }
    const title = `${entity}?${query}${actor === STAFF ? '' : ` (${actor.audience})`}`
    await expectGolden(
      file,
      title,
      await statementsOf(executor => readPage(executor, plan, ODATA_REPRESENTATION)),
    )
  })

  test('record-by-key', async () => {
    const plan = toPlan(`${FEW}&$filter=ListingKey eq 'L1'`)
    const sent = await statementsOf(executor => readFirstRecord(executor, plan, ODATA_REPRESENTATION))
    await expectGolden('record-by-key', "Property('L1')?$select=ListingKey,City,ListPrice", sent)
  })

  test('count', async () => {
    const plan = toPlan("$filter=City eq 'Austin' and ListPrice ge 100000")
    const sent = await statementsOf(executor => countRecords(executor, plan))
    await expectGolden('count', "Property/$count?$filter=City eq 'Austin' and ListPrice ge 100000", sent)
  })
})

describe('writes', () => {
  const WRITER: Actor = { ...AGENT, scopes: new Set(['listings:read', 'listings:write']) }
  const NOW = new Date('2026-05-01T12:00:00.000Z')
  const statement = ({ text, values }: Statement): readonly SentStatement[] => [
    { text, values, planCacheMode: undefined },
  ]
  const returning = { plan: toPlan(FEW), representation: ODATA_REPRESENTATION }
  const planned = (mode: WriteRequest['mode'], changes: Partial<ListingChanges>, precondition = {}) => {
    const request = { mode, actor: WRITER, changes: { ...NO_CHANGES, ...changes }, precondition }
    return [toWritePlan(shapeOf(request)), toParameters(request, 'L1', NOW)] as const
  }

  test('write-rule-inputs', () =>
    expectGolden(
      'write-rule-inputs',
      'the record of a refused write, with the members and offices that its rules look up',
      statement(toRuleInputsStatement('L1', ['M1', 'O1'], true)),
    ))

  test('write-insert', () => {
    const values = { ListAgentKey: 'M2', ListOfficeKey: 'O1', City: 'Austin' }
    return expectGolden(
      'write-insert',
      'POST /odata/Property',
      statement(
        toInsertStatement(...planned('create', { values }), { ...values, ListingKey: 'L1' }, returning),
      ),
    )
  })

  test('write-update', () =>
    expectGolden(
      'write-update',
      "PATCH /odata/Property('L1')",
      statement(
        toUpdateStatement(
          ...planned('change', { values: { City: 'Austin', ListPrice: '500000' } }, { ifMatch: ['7'] }),
          returning,
        ),
      ),
    ))

  test('write-transition', () =>
    expectGolden(
      'write-transition',
      "PATCH /odata/Property('L1') with StandardStatus Sold",
      statement(
        toUpdateStatement(
          ...planned('change', { status: 'Sold', values: { ChangedByMemberKey: 'M1' } }),
          undefined,
        ),
      ),
    ))

  test('write-delete', () =>
    expectGolden(
      'write-delete',
      "DELETE /odata/Property('L1')",
      statement(toDeleteStatement(...planned('delete', {}))),
    ))
})
