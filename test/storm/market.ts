import type { Client } from 'pg'
import type { Grant } from '../../src/http/auth/sign-token.js'
import { REPLICATED_SETS } from '../support/clients/replicated-sets.js'
import type { Storm, StormRow } from './storm.js'
import type { StormClient } from './storm-client.js'

/** Records by set and key. */
export type Market = ReadonlyMap<string, Map<string, StormRow>>

export const createMarket = (): Market =>
  new Map(Object.keys(REPLICATED_SETS).map(set => [set, new Map<string, StormRow>()]))

export function putRows(market: Market, set: string, rows: readonly StormRow[]): void {
  const copy = market.get(set)
  for (const row of rows) copy?.set(String(row[REPLICATED_SETS[set] ?? '']), row)
}

/** Query options of the copied sets, such as `$expand=Media`. */
export type SetOptions = Readonly<Record<string, string>>

/** Reads everything that a token can see. */
export async function readMarket(client: StormClient, options: SetOptions = {}): Promise<Market> {
  const market = createMarket()
  for (const set of Object.keys(REPLICATED_SETS))
    putRows(
      market,
      set,
      await client.rows(`/odata/${set}?${['$top=1000', options[set] ?? []].flat().join('&')}`),
    )
  return market
}

const MAX_DIFFERENCES = 5

/** Returns the first differences of a copy, by record and column. */
export function compareMarkets(copy: Market, market: Market): readonly string[] {
  const differences: string[] = []
  for (const [set, rows] of market) {
    const copied = copy.get(set) ?? new Map<string, StormRow>()
    for (const [key, row] of rows) {
      const other = copied.get(key)
      if (!other) differences.push(`${set} ${key} is missing`)
      else differences.push(...compareRows(`${set} ${key}`, other, row))
    }
    for (const key of copied.keys()) if (!rows.has(key)) differences.push(`${set} ${key} should be gone`)
  }
  return differences.slice(0, MAX_DIFFERENCES)
}

function compareRows(name: string, copy: StormRow, row: StormRow): readonly string[] {
  const fields = [...new Set([...Object.keys(copy), ...Object.keys(row)])]
  return fields.flatMap(field => {
    const [a, b] = [JSON.stringify(copy[field]), JSON.stringify(row[field])]
    return a === b ? [] : [`${name} ${field} is ${a?.slice(0, 80)}, not ${b?.slice(0, 80)}`]
  })
}

/** Tokens of the readers. */
export const readerGrants = ({
  agent,
}: Pick<Storm, 'agent'>): Readonly<Record<string, Omit<Grant, 'expiresIn'>>> => ({
  staff: { scopes: ['listings:read', 'listings:write', 'listings:write:any'], audience: 'staff' },
  member: { scopes: ['listings:read'], audience: 'member' },
  agent: {
    scopes: ['listings:read', 'listings:write'],
    audience: 'public',
    memberKey: agent.memberKey,
  },
  public: { scopes: ['listings:read'], audience: 'public' },
})

/** Rules of visibility in SQL, written from the interface and not from the service. */
const LISTING_RULES: Readonly<Record<string, string>> = {
  staff: 'true',
  member: `"StandardStatus" <> 'Incomplete'`,
  agent: `("StandardStatus" <> 'Incomplete' and coalesce("InternetEntireListingDisplayYN", true)) or "ListAgentKey" = $1 or "ListOfficeKey" = $1`,
  public: `"StandardStatus" <> 'Incomplete' and coalesce("InternetEntireListingDisplayYN", true)`,
}
const PARENT_KEY: Readonly<Record<string, string>> = {
  Property: 'ListingKey',
  Rooms: 'ListingKey',
  OpenHouse: 'ListingKey',
}

/** Returns the first differences between the keys of a market and those that SQL finds. */
export async function compareWithTables(
  client: Client,
  { agent }: Pick<Storm, 'agent'>,
  reader: string,
  market: Market,
): Promise<readonly string[]> {
  const differences: string[] = []
  for (const [set, parentKey] of Object.entries(PARENT_KEY)) {
    const rule = LISTING_RULES[reader] ?? ''
    const values = rule.includes('$1') ? [agent.memberKey] : []
    const { rows } = await client.query<{ key: string }>(
      `select "${REPLICATED_SETS[set]}" as key from "${set}" where "${parentKey}" in (select "ListingKey" from "Property" where ${rule})`,
      values,
    )
    const keys = new Set(rows.map(({ key }) => key))
    const copied = market.get(set) ?? new Map<string, StormRow>()
    for (const key of keys) if (!copied.has(key)) differences.push(`${set} ${key} is not shown`)
    for (const key of copied.keys()) if (!keys.has(key)) differences.push(`${set} ${key} is shown`)
  }
  return differences.slice(0, MAX_DIFFERENCES)
}
