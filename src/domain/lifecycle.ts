/** The three status fields of a listing. Clients set StandardStatus; the other two are derived from it. */
export interface StatusFields {
  readonly StandardStatus: ListingStatus
  readonly MlsStatus: string
  readonly ContractStatus: string
}

/** Every StandardStatus with its MlsStatus and ContractStatus. */
// biome-ignore format: table
const DERIVED_STATUSES = {
  'Incomplete':            { MlsStatus: 'Draft',                 ContractStatus: 'Draft' },
  'Coming Soon':           { MlsStatus: 'Coming Soon',           ContractStatus: 'Available' },
  'Active':                { MlsStatus: 'Active',                ContractStatus: 'Available' },
  'Active Under Contract': { MlsStatus: 'Active Under Contract', ContractStatus: 'Under Contract' },
  'Pending':               { MlsStatus: 'Pending',               ContractStatus: 'Under Contract' },
  'Hold':                  { MlsStatus: 'Hold',                  ContractStatus: 'Unavailable' },
  'Withdrawn':             { MlsStatus: 'Withdrawn',             ContractStatus: 'Unavailable' },
  'Canceled':              { MlsStatus: 'Canceled',              ContractStatus: 'Unavailable' },
  'Expired':               { MlsStatus: 'Expired',               ContractStatus: 'Unavailable' },
  'Sold':                  { MlsStatus: 'Sold',                  ContractStatus: 'Sold' },
} as const

export type ListingStatus = keyof typeof DERIVED_STATUSES

export const STATUSES: ReadonlySet<string> = new Set(Object.keys(DERIVED_STATUSES))

export const isStatus = (text: string): text is ListingStatus => STATUSES.has(text)

/** The status of a new listing. */
export const INITIAL_STATUS: ListingStatus = 'Incomplete'

/** Returns the status of a stored record. A record that was imported without one counts as a draft. */
export const statusOf = ({ StandardStatus }: { readonly StandardStatus: string | null }): string =>
  StandardStatus ?? INITIAL_STATUS

export const statusFields = (status: ListingStatus): StatusFields => ({
  StandardStatus: status,
  ...DERIVED_STATUSES[status],
})

/** A change of StandardStatus from one of several statuses to another. */
export interface Transition {
  /** The GraphQL mutation for this transition. */
  readonly name: string
  readonly description: string
  readonly from: readonly ListingStatus[]
  readonly to: ListingStatus
  /** Fields that must have a value, in the request or in the stored record. */
  readonly requires: readonly 'SoldPrice'[]
}

/**
 * Every arrow of the state diagram. No other change of status is possible. `createDraft` makes
 * a draft.
 */
// biome-ignore format: table
export const TRANSITIONS: readonly Transition[] = [
  { name: 'announceProperty', to: 'Coming Soon',           requires: [],            description: 'Announces a listing that will come to the market soon.',
    from: ['Incomplete'] },
  { name: 'publishProperty',  to: 'Active',                requires: [],            description: 'Brings a listing to the market, or back to it.',
    from: ['Incomplete', 'Coming Soon', 'Active Under Contract', 'Pending', 'Hold', 'Withdrawn', 'Expired'] },
  { name: 'contractProperty', to: 'Active Under Contract', requires: [],            description: 'An offer is accepted; further offers are still considered.',
    from: ['Active', 'Pending'] },
  { name: 'pendProperty',     to: 'Pending',               requires: [],            description: 'An offer is accepted; the sale is about to be completed.',
    from: ['Active', 'Active Under Contract'] },
  { name: 'holdProperty',     to: 'Hold',                  requires: [],            description: 'Takes a listing off the market temporarily.',
    from: ['Coming Soon', 'Active'] },
  { name: 'withdrawProperty', to: 'Withdrawn',             requires: [],            description: 'Takes a listing off the market; the agreement with the seller remains in force.',
    from: ['Coming Soon', 'Active', 'Active Under Contract', 'Pending', 'Hold'] },
  { name: 'cancelProperty',   to: 'Canceled',              requires: [],            description: 'Ends the agreement with the seller. The listing cannot return to the market.',
    from: ['Coming Soon', 'Active', 'Active Under Contract', 'Pending', 'Hold', 'Withdrawn'] },
  { name: 'expireProperty',   to: 'Expired',               requires: [],            description: 'The agreement with the seller has expired.',
    from: ['Coming Soon', 'Active', 'Active Under Contract', 'Pending', 'Hold', 'Withdrawn'] },
  { name: 'sellProperty',     to: 'Sold',                  requires: ['SoldPrice'], description: 'Completes the sale. The status is final.',
    from: ['Active', 'Active Under Contract', 'Pending'] },
]

/** Returns the statuses that a listing can change to. */
export const statusesAfter = (from: string): readonly ListingStatus[] =>
  TRANSITIONS.filter(t => t.from.some(status => status === from)).map(t => t.to)

const mermaidId = (status: ListingStatus) => status.replaceAll(' ', '')

/** Renders the state diagram as Mermaid text. */
export function renderLifecycle(): string {
  const statuses = Object.keys(DERIVED_STATUSES).filter(isStatus)
  const names = statuses.filter(s => mermaidId(s) !== s).map(s => `state "${s}" as ${mermaidId(s)}`)
  const arrows = statuses.flatMap(from =>
    TRANSITIONS.filter(t => t.from.includes(from)).map(
      t => `${mermaidId(from)} --> ${mermaidId(t.to)}: ${t.name}`,
    ),
  )
  const ends = statuses
    .filter(s => !TRANSITIONS.some(t => t.from.includes(s)))
    .map(s => `${mermaidId(s)} --> [*]`)
  return [
    'stateDiagram-v2',
    ...[...names, `[*] --> ${mermaidId(INITIAL_STATUS)}: createDraft`, ...arrows, ...ends].map(
      line => `  ${line}`,
    ),
    '',
  ].join('\n')
}
