import { describe, expect, it } from 'vitest'
import { isMet } from '../../../src/domain/evaluate.js'
import {
  isStatus,
  type ListingStatus,
  renderLifecycle,
  STATUSES,
  statusFields,
  TRANSITIONS,
} from '../../../src/domain/lifecycle.js'
import { NO_LISTING } from '../../../src/domain/listing.js'
import { NO_CHANGES } from '../../../src/domain/listing-changes.js'
import { EMPTY_RULE_INPUTS, toEvaluationContext } from '../../../src/domain/write-plan.js'
import { rulesOf } from '../../../src/domain/write-rules.js'
import { shapeOf } from '../../../src/domain/write-shape.js'

/** The table of statuses, row by row. */
const MAY_GO_TO: Readonly<Record<string, string>> = {
  Incomplete: 'Coming Soon, Active',
  'Coming Soon': 'Active, Hold, Withdrawn, Canceled, Expired',
  Active: 'Active Under Contract, Pending, Hold, Withdrawn, Canceled, Expired, Sold',
  'Active Under Contract': 'Active, Pending, Withdrawn, Canceled, Expired, Sold',
  Pending: 'Active, Active Under Contract, Withdrawn, Canceled, Expired, Sold',
  Hold: 'Active, Withdrawn, Canceled, Expired',
  Withdrawn: 'Active, Canceled, Expired',
  Expired: 'Active',
  Canceled: '',
  Sold: '',
}

/** The rule that a write checks. */
function isAllowed(from: string, to: ListingStatus): boolean {
  const actor = { scopes: new Set(['listings:write:any']), audience: 'staff' } as const
  const changes = { ...NO_CHANGES, status: to, values: { SoldPrice: '5' } }
  const shape = shapeOf({ mode: 'change', actor, changes, precondition: {} })
  const stored = { ...NO_LISTING, StandardStatus: from, RecordVersion: '1' }
  const context = toEvaluationContext({ ...EMPTY_RULE_INPUTS, stored }, [])
  return rulesOf(shape).every(({ condition }) => isMet(condition, context))
}

const statuses = [...STATUSES].filter(isStatus)

describe('the life of a listing', () => {
  it('has ten statuses', () => expect(statuses.toSorted()).toEqual(Object.keys(MAY_GO_TO).toSorted()))

  it.each(statuses.flatMap(from => statuses.map(to => [from, to] as const)))('%s -> %s', (from, to) => {
    const allowed = (MAY_GO_TO[from] ?? '').split(', ').includes(to)
    expect(isAllowed(from, to)).toBe(from === to || allowed)
  })

  it('has no transition from an unknown status', () => expect(isAllowed('Closed', 'Active')).toBe(false))

  it('has one transition, of its own name, for each status but the first', () => {
    expect(new Set(TRANSITIONS.map(t => t.name)).size).toBe(TRANSITIONS.length)
    expect(TRANSITIONS.map(t => t.to).toSorted()).toEqual(statuses.filter(s => s !== 'Incomplete').toSorted())
  })

  it.each([
    ['Incomplete', 'Draft', 'Draft'],
    ['Coming Soon', 'Coming Soon', 'Available'],
    ['Active', 'Active', 'Available'],
    ['Active Under Contract', 'Active Under Contract', 'Under Contract'],
    ['Pending', 'Pending', 'Under Contract'],
    ['Hold', 'Hold', 'Unavailable'],
    ['Withdrawn', 'Withdrawn', 'Unavailable'],
    ['Canceled', 'Canceled', 'Unavailable'],
    ['Expired', 'Expired', 'Unavailable'],
    ['Sold', 'Sold', 'Sold'],
  ] as const)('%s: MlsStatus %s, ContractStatus %s', (StandardStatus, MlsStatus, ContractStatus) =>
    expect(statusFields(StandardStatus)).toEqual({ StandardStatus, MlsStatus, ContractStatus }),
  )

  it('prints every arrow once', () => {
    const lines = renderLifecycle().trimEnd().split('\n')
    expect(lines[0]).toBe('stateDiagram-v2')
    expect(lines).toContain('  [*] --> Incomplete: createDraft')
    expect(lines).toContain('  ActiveUnderContract --> Sold: sellProperty')
    expect(lines).toContain('  Sold --> [*]')
    const count = TRANSITIONS.reduce((sum, t) => sum + t.from.length, 0)
    expect(new Set(lines.filter(line => /^ {2}\w+ --> \w+: /.test(line))).size).toBe(count)
  })
})
