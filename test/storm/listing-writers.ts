import { setTimeout as wait } from 'node:timers/promises'
import { EXISTS } from './ledger.js'
import { signStormToken } from './services.js'
import { createRandom, type Storm, type StormRow } from './storm.js'
import { StormClient, type WriteOutcome } from './storm-client.js'

/** Writes of one adapter. */
interface ListingApi {
  create(fields: StormRow): Promise<WriteOutcome>
  update(key: string, fields: StormRow): Promise<WriteOutcome>
  remove(key: string): Promise<WriteOutcome>
}

const odataApi = (client: StormClient, member: string): ListingApi => ({
  create: fields => client.write('POST', '/odata/Property', fields),
  update: (key, fields) =>
    client.write('PATCH', `/odata/Property('${key}')`, { ...fields, ChangedByMemberKey: member }),
  remove: key => client.write('DELETE', `/odata/Property('${key}')`),
})

const graphqlApi = (client: StormClient, member: string): ListingApi => ({
  create: input =>
    client.mutate('mutation($input: PropertyInput!) { createDraft(input: $input) { ListingKey } }', {
      input,
    }),
  update: (key, { StandardStatus, SoldPrice, ...input }) => {
    const more = { key, member }
    if (StandardStatus === 'Active')
      return client.mutate(
        'mutation($key: String!, $member: String) { publishProperty(ListingKey: $key, ChangedByMemberKey: $member) { id } }',
        more,
      )
    if (StandardStatus === 'Sold')
      return client.mutate(
        'mutation($key: String!, $member: String, $price: Decimal!) { sellProperty(ListingKey: $key, SoldPrice: $price, ChangedByMemberKey: $member) { id } }',
        { ...more, price: SoldPrice },
      )
    return client.mutate(
      'mutation($key: String!, $input: PropertyInput!) { updateProperty(ListingKey: $key, input: $input) { id } }',
      { key, input: { ...input, ChangedByMemberKey: member } },
    )
  },
  remove: key =>
    client.mutate('mutation($key: String!) { deleteProperty(ListingKey: $key) { id } }', { key }),
})

/** Fields of the shared listings, one for each writer. */
const OWN_FIELDS = [
  'SubdivisionName',
  'CountyOrParish',
  'UnitNumber',
  'StreetDirPrefix',
  'ParcelNumber',
  'Directions',
]
const PAUSE_MS = 20
const PAUSE_AFTER_UNKNOWN_MS = 300

/** A client that takes listings through their life cycle, and changes its field of the shared listings. */
class ListingWriter {
  readonly #random: (below: number) => number
  #count = 0

  constructor(
    private readonly storm: Storm,
    private readonly number: number,
    private readonly api: ListingApi,
    private readonly isAgent: boolean,
  ) {
    this.#random = createRandom(number + 1)
  }

  async run(): Promise<void> {
    while (!this.storm.isOver()) {
      await this.#runLife()
      for (let n = 0; n < 4 && !this.isAgent; n++) await this.#changeShared()
    }
  }

  /** A listing is not changed again after a write without a response. */
  async #runLife(): Promise<void> {
    const key = await this.#create()
    if (key === undefined) return
    const steps: StormRow[] = [
      { ListPrice: 100_000 + this.#count },
      { StandardStatus: 'Active' },
      { InternetEntireListingDisplayYN: false },
      { ListPrice: 200_000 + this.#count },
      ...(this.#random(3) > 0 ? [{ InternetEntireListingDisplayYN: true }] : []),
      ...(this.#random(2) > 0 ? [{ StandardStatus: 'Sold', SoldPrice: 300_000 + this.#count }] : []),
    ]
    for (const step of steps) if (!(await this.#write(key, step))) return
    if (this.#random(2) === 0) await this.#remove(key)
  }

  async #create(): Promise<string | undefined> {
    const { memberKey } = this.storm.agent
    const fields = {
      ListAgentKey: memberKey,
      ListOfficeKey: memberKey,
      PropertyType: 'Residential',
      StreetNumber: String(this.#count),
      StreetName: `Writer ${this.number} ${++this.#count}`,
      City: 'Vail',
    }
    const outcome = await this.api.create(fields)
    this.#checkRefusal(outcome)
    if (outcome.kind !== 'acknowledged') return undefined
    const key = String(outcome.body['ListingKey'])
    this.storm.ledger.record(
      { set: 'Property', key, fields: { ...fields, StandardStatus: 'Incomplete', [EXISTS]: true } },
      true,
    )
    return key
  }

  async #write(key: string, fields: StormRow): Promise<boolean> {
    const outcome = await this.api.update(key, fields)
    await this.#record(key, fields, outcome)
    return outcome.kind === 'acknowledged'
  }

  async #remove(key: string): Promise<void> {
    await this.#record(key, { [EXISTS]: false }, await this.api.remove(key))
  }

  async #changeShared(): Promise<void> {
    const { sharedKeys } = this.storm
    const field = OWN_FIELDS[this.number] ?? ''
    const value = `w${++this.#count}`
    await this.#write(sharedKeys[this.#random(sharedKeys.length)] ?? '', { [field]: value })
  }

  async #record(key: string, fields: StormRow, outcome: WriteOutcome): Promise<void> {
    this.#checkRefusal(outcome)
    if (outcome.kind !== 'refused')
      this.storm.ledger.record({ set: 'Property', key, fields }, outcome.kind === 'acknowledged')
    await wait(outcome.kind === 'unknown' ? PAUSE_AFTER_UNKNOWN_MS : PAUSE_MS)
  }

  #checkRefusal(outcome: WriteOutcome): void {
    if (outcome.kind === 'refused') this.storm.faults.push(outcome.text)
  }
}

/** Creates three writers by OData, one of them with the token of an agent, and three by GraphQL. */
export function createListingWriters(storm: Storm): readonly { run(): Promise<void> }[] {
  const { services, agent } = storm
  const staff = signStormToken({
    scopes: ['listings:read', 'listings:write', 'listings:write:any'],
    audience: 'staff',
  })
  const own = signStormToken({
    scopes: ['listings:read', 'listings:write'],
    audience: 'public',
    memberKey: agent.memberKey,
  })
  return OWN_FIELDS.map((_, number) => {
    const isAgent = number === 0
    const client = new StormClient(services, isAgent ? own : staff)
    const api = number < 3 ? odataApi(client, agent.memberKey) : graphqlApi(client, agent.memberKey)
    return new ListingWriter(storm, number, api, isAgent)
  })
}
