import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bodyOf } from '../../support/assertions.js'
import { LogReader } from '../../support/clients/log-reader.js'
import { DATABASE_KINDS } from '../../support/database.js'
import { startTestService } from '../../support/test-service.js'

/** Events of drafts that the reader may not see. Trap REP2-13 has a million: HIDDEN_EVENTS=1000000. */
const HIDDEN_EVENTS = Number(process.env['HIDDEN_EVENTS'] ?? 20_000)

/** Events of a draft of another agent, as the triggers write them: a row for each audience. */
const WRITE_HIDDEN_EVENTS = `insert into "EntityEvent"
  ("EntityEventSequence", "EventTimestamp", "ResourceName", "ResourceRecordKey", "Audience", "EarlierAudiences")
  select sequence, clock_timestamp(), 'Property', 'L001', audience, case audience when 'any' then array['agent:Z'] else '{}' end
  from (select nextval('entity_event_sequence') as sequence from generate_series(1, ${HIDDEN_EVENTS})) numbers,
    unnest(array['agent:Z', 'any']) audience`

interface Page {
  readonly value: readonly { readonly EntityEventSequence: number; readonly ResourceRecordKey: string }[]
  readonly '@odata.nextLink'?: string
}

describe.each(DATABASE_KINDS)(
  `REP2-13 ${HIDDEN_EVENTS} events that the reader may not see, on the %s database`,
  kind => {
    let market: Awaited<ReturnType<typeof startTestService>>
    let reader: LogReader
    let start = 0
    beforeAll(async () => {
      market = await startTestService({ kind })
      await market.given([{ StandardStatus: 'Incomplete', ListAgentKey: 'Z' }, { StandardStatus: 'Active' }])
      reader = new LogReader(market, 'public')
      const { value } = await read('$orderby=EntityEventSequence desc&$top=1')
      start = value[0]?.EntityEventSequence ?? 0
      await market.database.withClient(client => client.query(WRITE_HIDDEN_EVENTS))
      expect((await market.patch('L002', { ListPrice: 1 })).status).toBe(200)
    }, 600_000)
    afterAll(() => market.close())

    async function read(query: string, headers = {}): Promise<Page> {
      const response = await reader.send(`/odata/EntityEvent?${query}`, { headers })
      expect(response.status).toBe(200)
      return bodyOf(response) as unknown as Page
    }

    test.each([
      ['with $top', '&$top=100', {}],
      ['without $top', '', {}],
      ['with maxpagesize', '', { Prefer: 'maxpagesize=100' }],
    ])('the first page %s has the event after them, and is the last page', async (_, query, headers) => {
      const page = await read(`$filter=EntityEventSequence gt ${start}${query}`, headers)
      expect(page.value.map(({ ResourceRecordKey }) => ResourceRecordKey)).toEqual(['L002'])
      expect(page.value[0]?.EntityEventSequence).toBeGreaterThan(start + HIDDEN_EVENTS)
      expect(page['@odata.nextLink']).toBeUndefined()
    })

    test('the newest visible event is found although hidden ones follow', async () => {
      const hidden = await market.database.withClient(client => client.query(WRITE_HIDDEN_EVENTS))
      expect(hidden.rowCount).toBe(2 * HIDDEN_EVENTS)
      const { value } = await read('$orderby=EntityEventSequence desc&$top=1')
      expect(value.map(({ ResourceRecordKey }) => ResourceRecordKey)).toEqual(['L002'])
    }, 600_000)
  },
)
