import type { TestApp } from '../support/app.js'

/** A change of records that some readers cannot see before or after it. */
export interface HiddenChange {
  readonly name: string
  /** Names of the readers. */
  readonly hiddenFrom: readonly string[]
  apply(): Promise<unknown>
}

const DRAFTS = ['D1', 'D2', 'D3', 'D4']
const CONCEALED = ['H1', 'H2', 'H3', 'H4']
const HIDDEN = [...DRAFTS, ...CONCEALED]
/** Keys of records that not every reader can see. */
export const HIDDEN_KEYS = [...HIDDEN, ...HIDDEN.flatMap(key => [`${key}-P`, `${key}-R`, `${key}-O`])]

/** Neither the class nor the keys of these readers allow reading a draft of M8 or M9. */
const EVERYBODY = ['public', 'member', 'agent', 'office']
/** Members see a listing that is not displayed on the internet. */
const NO_MEMBER = ['public', 'agent']

const INSERT_LISTING = `insert into "Property" ("ListingKey", "StandardStatus", "MlsStatus", "ContractStatus", "InternetEntireListingDisplayYN", "City", "ListPrice", "TaxYear", "ListAgentKey", "ListOfficeKey", "StreetName", "PublicRemarks")`
const insertListing = (key: string) =>
  `${INSERT_LISTING} values ('${key}', ${
    DRAFTS.includes(key)
      ? `'Incomplete', 'Incomplete', 'Available', true`
      : `'Active', 'Active', 'Available', false`
  }, 'Austin', 450000, 2001, 'M9', 'O9', 'Main', 'a pool') on conflict do nothing`
const insertChildren = (key: string) => [
  `insert into "Media" ("MediaKey", "ResourceName", "ResourceRecordKey", "MediaCategory", "Order") values ('${key}-P', 'Property', '${key}', 'Photo', 1) on conflict do nothing`,
  `insert into "Rooms" ("RoomKey", "ListingKey", "RoomType") values ('${key}-R', '${key}', 'Kitchen') on conflict do nothing`,
  `insert into "OpenHouse" ("OpenHouseKey", "ListingKey") values ('${key}-O', '${key}') on conflict do nothing`,
]

/** Creates the hidden listings, and returns changes of them. Each call of `apply` makes another change. */
export async function createHiddenChanges(
  { database, send }: Pick<TestApp, 'database' | 'send'>,
  random: (below: number) => number,
): Promise<readonly HiddenChange[]> {
  const run = (...statements: readonly string[]) =>
    database.withClient(async client => {
      for (const statement of statements) await client.query(statement)
    })
  const pick = (list: readonly string[]) => list[random(list.length)] ?? ''
  const listings = (keys: readonly string[], fields: string) => () =>
    run(
      `update "Property" set ${fields.replace('?', String(random(100)))} where "ListingKey" = '${pick(keys)}'`,
    )
  const children = (keys: readonly string[]) => () => {
    const [key, other] = [pick(keys), pick(keys)]
    const statements = [
      `update "Media" set "Order" = ${random(9)}, "MediaCategory" = '${pick(['Photo', 'Video'])}' where "ResourceRecordKey" = '${key}'`,
      `update "Media" set "ResourceRecordKey" = '${other}' where "MediaKey" = '${key}-P'`,
      `update "Rooms" set "RoomType" = '${pick(['Attic', 'Kitchen'])}' where "ListingKey" = '${key}'`,
      `update "Rooms" set "ListingKey" = '${other}' where "RoomKey" = '${key}-R'`,
      `update "OpenHouse" set "OpenHouseRemarks" = 'r${random(9)}' where "ListingKey" = '${key}'`,
      `delete from "Media" where "MediaKey" = '${key}-P'`,
      `delete from "Rooms" where "RoomKey" = '${key}-R'`,
      `delete from "OpenHouse" where "OpenHouseKey" = '${key}-O'`,
    ]
    return run(pick(statements), ...insertChildren(key))
  }
  const recreate = (keys: readonly string[]) => async () => {
    const key = pick(keys)
    await run(`delete from "Property" where "ListingKey" = '${key}'`)
    if (random(2) === 0) await run(insertListing(key), ...insertChildren(key))
    else await run(...keys.flatMap(each => [insertListing(each), ...insertChildren(each)]))
  }
  await run(
    `insert into "Member" ("MemberKey", "MemberLastName") values ('M8', 'Lu'), ('M9', 'Lee') on conflict do nothing`,
    ...HIDDEN.flatMap(key => [insertListing(key), ...insertChildren(key)]),
  )
  const patch = (keys: readonly string[]) => () =>
    send(`/odata/Property('${pick(keys)}')`, {
      method: 'PATCH',
      body: { ListPrice: 100_000 + random(900_000), ChangedByMemberKey: 'M9' },
    })
  return [
    { name: 'a draft is patched', hiddenFrom: EVERYBODY, apply: patch(DRAFTS) },
    { name: 'a draft moves to another agent', hiddenFrom: EVERYBODY, apply: listings(DRAFTS, `"ListAgentKey" = case "ListAgentKey" when 'M9' then 'M8' else 'M9' end`) },
    { name: 'children of drafts', hiddenFrom: EVERYBODY, apply: children(DRAFTS) },
    { name: 'drafts are deleted and created', hiddenFrom: EVERYBODY, apply: recreate(DRAFTS) },
    { name: 'import of a draft', hiddenFrom: EVERYBODY, apply: () => run('begin', `set local listing.import = 'on'`, `update "Property" set "City" = 'Vail', "TaxYear" = ${1990 + random(30)} where "ListingKey" = '${pick(DRAFTS)}'`, 'commit') },
    { name: 'a hidden listing is patched', hiddenFrom: NO_MEMBER, apply: patch(CONCEALED) },
    { name: 'status and text of a hidden listing', hiddenFrom: NO_MEMBER, apply: listings(CONCEALED, `"StandardStatus" = case "StandardStatus" when 'Active' then 'Pending' else 'Active' end, "PublicRemarks" = 'a view ?'`) },
    { name: 'a hidden listing becomes a draft and back', hiddenFrom: NO_MEMBER, apply: listings(CONCEALED, `"StandardStatus" = case "StandardStatus" when 'Incomplete' then 'Active' else 'Incomplete' end`) },
    { name: 'children of hidden listings', hiddenFrom: NO_MEMBER, apply: children(HIDDEN) },
    { name: 'hidden listings are deleted and created', hiddenFrom: NO_MEMBER, apply: recreate(CONCEALED) },
  ] // biome-ignore format: one change a line
}
