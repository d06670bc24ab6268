import {
  type Entity,
  getEntity,
  getScalar,
  type Navigation,
  type ReadAccess,
  type Scalar,
} from '../model/model.js'
import {
  allOf,
  anyOf,
  type ColumnSource,
  columnOf,
  type Expr,
  FALSE,
  isFalse,
  nullLiteral,
  predicate,
  type RowName,
  rowSource,
  TRUE,
  textLiteral,
} from '../query/plan.js'
import type { Actor } from './actor.js'
import { isEventVisible } from './audiences.js'
import { delaysField, effectiveFeedOf, hiddenResources, hidesField } from './feeds/feed.js'
import { INITIAL_STATUS } from './lifecycle.js'

/** Market-wide rules on disclosure to all readers. */
export interface DisclosurePolicy {
  /** NON_DISCLOSURE: only members and staff can read sold prices and buyers. */
  readonly nonDisclosure: boolean
}

const PROPERTY = getEntity('Property')
const MEDIA = getEntity('Media')
const EVENT = getEntity('EntityEvent')
const FIELD = getEntity('Field')
const DISCLOSED: DisclosurePolicy = { nonDisclosure: false }

const listingColumn = (of: Entity, name: string, source: ColumnSource) =>
  columnOf(getScalar(of, name), source)
const isNotFalse = (column: Expr) =>
  predicate('ne', column, { kind: 'literal', value: false, type: 'Boolean' })

/** Returns a field of a listing, stored or to be written. */
type ListingField = (name: string) => Expr

/**
 * The listing belongs to the actor's agent or office.
 *   member M1 of no office → `ListAgentKey eq 'M1' or ListOfficeKey eq 'M1'`
 */
function isOwnListing(fieldOf: ListingField, { memberKey, officeKey }: Actor): Expr {
  const equals = (field: string, key: string | undefined) =>
    key === undefined ? FALSE : predicate('eq', fieldOf(field), textLiteral(key))
  return anyOf(
    equals('ListAgentKey', memberKey),
    equals('ListOfficeKey', memberKey),
    equals('ListOfficeKey', officeKey),
  )
}

/** The actor may change a listing with these fields. */
export function isWritableListing(fieldOf: ListingField, actor: Actor): Expr {
  if (actor.scopes.has('listings:write:any')) return TRUE
  return actor.scopes.has('listings:write') ? isOwnListing(fieldOf, actor) : FALSE
}

/** Returns the fields of the listing at `source`. */
const fieldsAt =
  (of: Entity, source: ColumnSource): ListingField =>
  name =>
    listingColumn(of, name, source)

function isVisibleListing(of: Entity, source: ColumnSource, actor: Actor): Expr {
  const isPublished = predicate(
    'ne',
    listingColumn(of, 'StandardStatus', source),
    textLiteral(INITIAL_STATUS),
  )
  const isDisplayed =
    actor.audience === 'public'
      ? isNotFalse(listingColumn(of, 'InternetEntireListingDisplayYN', source))
      : TRUE
  return anyOf(
    isWritableListing(fieldsAt(of, source), actor),
    allOf(isPublished, isDisplayed, isInFeed(source, actor, false)),
  )
}

/** The listing at `source` is in the actor's feed, and with `soldPrice` the feed shows its sold price. */
function isInFeed(source: ColumnSource, actor: Actor, soldPrice: boolean): Expr {
  const feed = effectiveFeedOf(actor)
  if (!feed) return TRUE
  return { kind: 'inFeed', feed: feed.id, soldPrice, key: columnOf(PROPERTY.key, source), type: 'Boolean' }
}

/** Returns true if the actor can see no record of an entity. */
export const isEntityHidden = (name: string, actor: Actor): boolean =>
  hiddenResources(effectiveFeedOf(actor)).has(name)

/** Navigation from a record of a listing to that listing. */
const LISTING_NAVIGATIONS: Readonly<Record<string, Navigation | undefined>> = {
  Media: requireNavigation('Media', 'Property'),
  Rooms: requireNavigation('Rooms', 'Listing'),
  OpenHouse: requireNavigation('OpenHouse', 'Listing'),
}

function requireNavigation(of: string, name: string): Navigation {
  const found = getEntity(of).fields.get(name) ?? getEntity(of).hidden.get(name)
  if (found?.kind !== 'navigation') throw new Error(`No navigation ${of}.${name} in the model`)
  return found
}

/**
 * Returns true if both ends of the navigation belong to one listing. An actor that can see one end can then
 * see the other.
 */
export const staysWithinListing = ({ target, local, foreign }: Navigation) =>
  (foreign === LISTING_NAVIGATIONS[target]?.local && local === PROPERTY.key.name) ||
  (target === PROPERTY.name && local === PROPERTY.key.name)

/**
 * Returns the condition under which the actor can see a record. Drafts are visible to actors
 * that may write them. Listings whose seller excludes the internet are hidden from the public. Records of a
 * listing are visible with the listing. Media of a listing that does not exist are visible to staff. An event
 * is visible to actors that could see its record before the change or can see it after. The description of a
 * field is visible to the readers of the field. The triggers of the
 * change log have the same rules as audiences (audiences.ts).
 */
export function isRecordVisible(
  of: Entity,
  row: RowName,
  actor: Actor,
  policy: DisclosurePolicy = DISCLOSED,
): Expr {
  const source = rowSource(row)
  if (isEntityHidden(of.name, actor)) return FALSE
  if (of === PROPERTY) return isVisibleListing(of, source, actor)
  if (of === EVENT) return isEventVisible(row, actor)
  if (of === FIELD) return isDescriptionVisible(source, actor, policy)
  const toListing = LISTING_NAVIGATIONS[of.name]
  if (!toListing) return TRUE
  const listing = nextRow(row)
  const isListingVisible = isVisibleListing(PROPERTY, rowSource(listing), actor)
  const hasVisibleListing: Expr = {
    kind: 'lambda',
    quantifier: 'any',
    over: { kind: 'records', navigation: toListing, source },
    row: listing,
    body: isListingVisible,
    type: 'Boolean',
  }
  const listingKey = columnOf(getScalar(of, toListing.local), source)
  if (of !== MEDIA) return isListingVisible === TRUE ? TRUE : hasVisibleListing
  const feed = effectiveFeedOf(actor)
  if (feed && !feed.showsMembers) return hasVisibleListing
  const isOfNoListing =
    actor.audience === 'staff' && !feed
      ? TRUE
      : predicate('ne', columnOf(getScalar(MEDIA, 'ResourceName'), source), textLiteral(PROPERTY.name))
  if (isListingVisible === TRUE)
    return anyOf(isOfNoListing, predicate('ne', listingKey, nullLiteral('String')))
  return anyOf(allOf(predicate('eq', listingKey, nullLiteral('String')), isOfNoListing), hasVisibleListing)
}

const RESTRICTED: readonly ReadAccess[] = ['member', 'disclosed', 'own']

/**
 * The description of a field is visible if the actor can read the field in some record. Fields that no client can
 * read are described too, since clients write them.
 */
function isDescriptionVisible(source: ColumnSource, actor: Actor, policy: DisclosurePolicy): Expr {
  const readableBy = columnOf(getScalar(FIELD, 'ReadableBy'), source)
  const unreadable = RESTRICTED.filter(access => isFalse(isReadableTo(access, source, actor, policy)))
  return allOf(...unreadable.map(access => predicate('ne', readableBy, textLiteral(access))))
}

const nextRow = (row: RowName): RowName => `r${Number(row.slice(1)) + 1}`

/**
 * Returns the condition under which the actor can read a field of the record at `source`.
 */
export function isFieldReadable(
  field: Scalar,
  source: ColumnSource,
  actor: Actor,
  policy: DisclosurePolicy,
): Expr {
  return allOf(isReadableWithoutFeed(field, source, actor, policy), isReadableInFeed(field, source, actor))
}

/** A feed hides fields in all listings that the actor may not write, and sold prices for some time. */
function isReadableInFeed(field: Scalar, source: ColumnSource, actor: Actor): Expr {
  const feed = effectiveFeedOf(actor)
  if (!feed) return TRUE
  const isWritable = isWritableListing(fieldsAt(PROPERTY, source), actor)
  if (hidesField(feed, field)) return isWritable
  return delaysField(feed, field) ? anyOf(isWritable, isInFeed(source, actor, true)) : TRUE
}

function isReadableWithoutFeed(
  field: Scalar,
  source: ColumnSource,
  actor: Actor,
  policy: DisclosurePolicy,
): Expr {
  return field.readableBy === 'everyone' && field.address && actor.audience === 'public'
    ? anyOf(
        isNotFalse(listingColumn(PROPERTY, 'InternetAddressDisplayYN', source)),
        isOwnListing(fieldsAt(PROPERTY, source), actor),
      )
    : isReadableTo(field.readableBy, source, actor, policy)
}

/** Returns the condition under which the actor is among the readers of a field of the listing at `source`. */
function isReadableTo(
  access: ReadAccess,
  source: ColumnSource,
  actor: Actor,
  policy: DisclosurePolicy,
): Expr {
  const isMemberOrStaff = actor.audience !== 'public'
  switch (access) {
    case 'everyone':
      return TRUE
    case 'member':
      return isMemberOrStaff ? TRUE : FALSE
    case 'disclosed':
      return isMemberOrStaff || !policy.nonDisclosure ? TRUE : FALSE
    case 'own':
      return actor.audience === 'staff' ? TRUE : isOwnListing(fieldsAt(PROPERTY, source), actor)
    case 'nobody':
      return FALSE
  }
}
