import type { FeedColumns } from '../../data/feeds/feed-store.js'
import { ALWAYS_SHOWN } from '../../domain/feeds/feed.js'
import { valueFault } from '../../errors/change-error.js'
import type { Problem } from '../../errors/problem.js'
import { suggestName } from '../../errors/suggest.js'
import { getEntity } from '../../model/model.js'

/** The largest page of the service. */
export interface FeedLimits {
  readonly pageSizeMax: number
}

const PROPERTY = getEntity('Property')
const NAME_PATTERN = /^[A-Za-z0-9._-]{1,100}$/
const MAX_DELAY_DAYS = 36_500

/** Returns the faults of the values of a feed, all but those of its filter. */
export function feedFaults(columns: FeedColumns, limits: FeedLimits): readonly Problem[] {
  const { FeedName, HiddenFields = [], OnlyFields, SoldPriceDelayDays: delay } = columns
  const faults: (Problem | false)[] = [
    FeedName !== undefined &&
      !NAME_PATTERN.test(FeedName) &&
      valueFault(
        'FeedName',
        `A feed has a name of up to 100 letters, digits, dots, hyphens and underscores, not '${FeedName}'.`,
      ),
    ...fieldFaults('HiddenFields', HiddenFields),
    ...fieldFaults('OnlyFields', OnlyFields ?? []),
    ...(OnlyFields && HiddenFields.length > 0
      ? [
          valueFault(
            'OnlyFields',
            'A feed has either a list of hidden fields or a list of shown fields, not both.',
          ),
        ]
      : []),
    ...HiddenFields.filter(name => ALWAYS_SHOWN.includes(name)).map(name =>
      valueFault('HiddenFields', `The field ${name} cannot be hidden: replication needs it.`),
    ),
    isOutside(delay, MAX_DELAY_DAYS) &&
      valueFault(
        'SoldPriceDelayDays',
        `The delay of sold prices is a number of days from 1 to ${MAX_DELAY_DAYS}.`,
      ),
    ...pageSizeFaults(columns, limits),
  ]
  return faults.filter(fault => fault !== false)
}

const fieldFaults = (target: 'HiddenFields' | 'OnlyFields', names: readonly string[]): readonly Problem[] =>
  [...new Set(names)].flatMap(name => {
    const reasons = [
      reasonOfField(name),
      names.indexOf(name) !== names.lastIndexOf(name) && `The field ${name} is specified more than once.`,
    ]
    return reasons.filter(reason => typeof reason === 'string').map(reason => valueFault(target, reason))
  })

/** Returns the reason for which a feed cannot hide or show a field. */
function reasonOfField(name: string): string | undefined {
  const field = PROPERTY.fields.get(name)
  if (field?.kind === 'navigation')
    return `${name} is a navigation. Use ShowsMedia, ShowsOpenHouses or ShowsMembers (--media, --openhouse, --members) to hide related records.`
  if (field) return undefined
  const suggestion = suggestName(
    name,
    PROPERTY.scalars.map(scalar => scalar.name),
  )
  return `Property has no field '${name}'.${suggestion === undefined ? '' : ` Did you mean '${suggestion}'?`}`
}

function pageSizeFaults(
  { PageSize, PageSizeMax }: FeedColumns,
  { pageSizeMax }: FeedLimits,
): readonly Problem[] {
  const faults = Object.entries({ PageSize, PageSizeMax })
    .filter(([, size]) => isOutside(size, pageSizeMax))
    .map(([field]) =>
      valueFault(
        field,
        `A page size is a number from 1 to ${pageSizeMax}, the PAGE_SIZE_MAX of the service.`,
      ),
    )
  return faults.length === 0 && PageSize && PageSizeMax && PageSize > PageSizeMax
    ? [valueFault('PageSize', 'The page size is larger than the maximum page size of the feed.')]
    : faults
}

/** Returns true for a number that is not an integer from 1 to a maximum. */
const isOutside = (value: number | null | undefined, max: number): boolean =>
  typeof value === 'number' && !(Number.isInteger(value) && value >= 1 && value <= max)
