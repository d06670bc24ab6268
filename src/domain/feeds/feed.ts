import { getEntity, getScalar, type Scalar } from '../../model/model.js'
import { memoize } from '../../query/memoize.js'
import type { Actor } from '../actor.js'

/** The content of a feed, which restricts what its readers can read. */
export interface FeedContent {
  /** Fields of Property that are hidden. */
  readonly hiddenFields: readonly string[]
  /** The only fields of Property that are shown. Undefined for all except the hidden ones. */
  readonly onlyFields?: readonly string[]
  /** Days after CloseDate before sold prices are shown. */
  readonly soldPriceDelayDays?: number
  readonly showsMedia: boolean
  readonly showsOpenHouses: boolean
  readonly showsMembers: boolean
}

/** A stored feed. Objects are immutable: a change of the feed creates a new one. */
export interface Feed extends FeedContent {
  readonly id: number
  readonly name: string
  /** Page settings of its readers. Undefined for those of the service. */
  readonly topIsTotal?: boolean
  readonly pageSize?: number
  readonly pageSizeMax?: number
}

const PROPERTY = getEntity('Property')

export const SOLD_PRICE_FIELDS: readonly string[] = ['SoldPrice', 'ClosePrice']

/** Groups of fields with the same information, which are hidden together. */
const FIELD_GROUPS: readonly (readonly string[])[] = [
  SOLD_PRICE_FIELDS,
  ['GeoLocation', 'Latitude', 'Longitude'],
]

/** Fields with the number of photos, which are hidden in feeds without media. */
const MEDIA_FIELDS: readonly string[] = ['PhotosCount', 'PhotosChangeTimestamp', 'MediaChangeTimestamp']

/** Fields that every feed shows, because replication needs them. */
export const ALWAYS_SHOWN: readonly string[] = [
  PROPERTY.key.name,
  'ModificationTimestamp',
  'LastEventSequence',
]

const hiddenFieldsOf = memoize(function hiddenFieldsOf(feed: FeedContent): ReadonlySet<string> {
  const { hiddenFields, onlyFields, showsMedia } = feed
  const hidden = new Set([
    ...hiddenFields,
    ...(onlyFields
      ? PROPERTY.scalars.map(({ name }) => name).filter(name => !onlyFields.includes(name))
      : []),
    ...(showsMedia ? [] : MEDIA_FIELDS),
  ])
  for (const group of FIELD_GROUPS)
    if (group.some(name => hidden.has(name))) for (const name of group) hidden.add(name)
  for (const name of ALWAYS_SHOWN) hidden.delete(name)
  return hidden
})

/** Returns true if a feed hides a field from readers who may not write its listing. */
export const hidesField = (feed: FeedContent, field: Scalar): boolean =>
  PROPERTY.fields.get(field.name) === field && hiddenFieldsOf(feed).has(field.name)

/** Returns true if a feed shows a field only some time after the sale. */
export const delaysField = ({ soldPriceDelayDays }: FeedContent, field: Scalar): boolean =>
  soldPriceDelayDays !== undefined &&
  SOLD_PRICE_FIELDS.includes(field.name) &&
  PROPERTY.fields.get(field.name) === field

const hiddenResourcesOf = memoize(function hiddenResourcesOf(feed: FeedContent): ReadonlySet<string> {
  return new Set([
    ...(feed.showsMedia ? [] : ['Media']),
    ...(feed.showsOpenHouses ? [] : ['OpenHouse']),
    ...(feed.showsMembers ? [] : ['Member', 'Office']),
  ])
})

/** Returns the resources that a feed does not show. */
export const hiddenResources = (feed: FeedContent | undefined): ReadonlySet<string> =>
  feed ? hiddenResourcesOf(feed) : NONE

const NONE: ReadonlySet<string> = new Set()

/** The fields that `$search` searches, as in the trigger of PropertyText. */
export const SEARCHED_FIELDS: readonly Scalar[] = [
  'PublicRemarks', 'City', 'CityRegion', 'SubdivisionName', 'CountyOrParish', 'PostalCode', 'MLSAreaMajor', 'PropertyType', 'PropertySubType',
  'ListingId', 'ListAgentFullName', 'ListOfficeName', 'ElementarySchool', 'MiddleOrJuniorSchool', 'HighSchool', 'HighSchoolDistrict',
].map(name => getScalar(PROPERTY, name)) // biome-ignore format: one list

/**
 * Returns the feed that restricts an actor, or undefined for a token that may write, and therefore see, every
 * listing.
 */
export const effectiveFeedOf = ({ feed, scopes }: Actor): Feed | undefined =>
  scopes.has('listings:write:any') ? undefined : feed
