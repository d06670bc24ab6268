import type { FeedColumns } from '../../data/feeds/feed-store.js'
import { ALWAYS_SHOWN } from '../../domain/feeds/feed.js'
import { suggestName } from '../../errors/suggest.js'
import { getEntity } from '../../model/model.js'
import { feedValueError } from './feed-filter.js'

/** The largest page of the service. */
export interface FeedLimits {
  readonly pageSizeMax: number
}

const PROPERTY = getEntity('Property')
const NAME_PATTERN = /^[A-Za-z0-9._-]{1,100}$/
const MAX_DELAY_DAYS = 36_500

/**
 * Checks the values of a feed, all but its filter.
 * @throws FeedError
 */
export function checkFeedColumns(columns: FeedColumns, limits: FeedLimits): void {
  const { FeedName, HiddenFields = [], OnlyFields, SoldPriceDelayDays: delay } = columns
  if (FeedName !== undefined && !NAME_PATTERN.test(FeedName))
    refuse(
      'FeedName',
      `A feed has a name of up to 100 letters, digits, dots, hyphens and underscores, not '${FeedName}'.`,
    )
  checkFields('HiddenFields', HiddenFields)
  if (OnlyFields) checkFields('OnlyFields', OnlyFields)
  if (OnlyFields && HiddenFields.length > 0)
    refuse('OnlyFields', 'A feed has either a list of hidden fields or a list of shown fields, not both.')
  const always = HiddenFields.find(name => ALWAYS_SHOWN.includes(name))
  if (always !== undefined)
    refuse('HiddenFields', `The field ${always} cannot be hidden: replication needs it.`)
  if (delay !== undefined && delay !== null && !isIntegerUpTo(delay, MAX_DELAY_DAYS))
    refuse('SoldPriceDelayDays', `The delay of sold prices is a number of days from 1 to ${MAX_DELAY_DAYS}.`)
  checkPageSizes(columns, limits)
}

function checkFields(target: 'HiddenFields' | 'OnlyFields', names: readonly string[]): void {
  for (const [i, name] of names.entries()) {
    if (names.indexOf(name) !== i) refuse(target, `The field ${name} is named twice.`)
    const field = PROPERTY.fields.get(name)
    if (field?.kind === 'navigation')
      refuse(
        target,
        `${name} is a navigation. Use ShowsMedia, ShowsOpenHouses or ShowsMembers (--media, --openhouse, --members) to hide related records.`,
      )
    if (!field) {
      const suggestion = suggestName(
        name,
        PROPERTY.scalars.map(scalar => scalar.name),
      )
      refuse(
        target,
        `Property has no field '${name}'.${suggestion === undefined ? '' : ` Did you mean '${suggestion}'?`}`,
      )
    }
  }
}

function checkPageSizes({ PageSize, PageSizeMax }: FeedColumns, { pageSizeMax }: FeedLimits): void {
  for (const [field, size] of Object.entries({ PageSize, PageSizeMax }))
    if (size !== undefined && size !== null && !isIntegerUpTo(size, pageSizeMax))
      refuse(field, `A page size is a number from 1 to ${pageSizeMax}, the PAGE_SIZE_MAX of the service.`)
  if (PageSize && PageSizeMax && PageSize > PageSizeMax)
    refuse('PageSize', 'The page size is larger than the largest page of the feed.')
}

const isIntegerUpTo = (value: number, max: number): boolean =>
  Number.isInteger(value) && value >= 1 && value <= max

const refuse = (field: string, reason: string): never => {
  throw feedValueError(field, reason)
}
