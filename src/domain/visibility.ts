import { type Entity, getEntity, getScalar, type Navigation, type Scalar } from '../model/model.js'
import {
  allOf,
  anyOf,
  type ColumnSource,
  columnOf,
  type Expr,
  FALSE,
  nullLiteral,
  predicate,
  type RowName,
  rowSource,
  TRUE,
  textLiteral,
} from '../query/plan.js'
import type { Actor } from './actor.js'
import { DRAFT } from './lifecycle.js'

/** Market-wide rules on disclosure to all readers. */
export interface DisclosurePolicy {
  /** NON_DISCLOSURE: only members and staff can read sold prices and buyers. */
  readonly nonDisclosure: boolean
}

const PROPERTY = getEntity('Property')

const listingColumn = (of: Entity, name: string, source: ColumnSource) =>
  columnOf(getScalar(of, name), source)
const isNotFalse = (column: Expr) =>
  predicate('ne', column, { kind: 'literal', value: false, type: 'Boolean' })

/**
 * The listing belongs to the actor's agent or office (decisions 6). `of` is Property, or EntityEvent, which
 * stores the same columns.
 */
function isOwnListing(of: Entity, source: ColumnSource, { memberKey, officeKey }: Actor): Expr {
  const equals = (field: string, key: string | undefined) =>
    key === undefined ? FALSE : predicate('eq', listingColumn(of, field, source), textLiteral(key))
  return anyOf(
    equals('ListAgentKey', memberKey),
    equals('ListOfficeKey', memberKey),
    equals('ListOfficeKey', officeKey),
  )
}

/** The actor may change the listing. `canWriteListing` in actor.ts is the same rule for one record. */
function isWritableListing(of: Entity, source: ColumnSource, actor: Actor): Expr {
  if (actor.scopes.has('listings:write:any')) return TRUE
  return actor.scopes.has('listings:write') ? isOwnListing(of, source, actor) : FALSE
}

function isVisibleListing(of: Entity, source: ColumnSource, actor: Actor): Expr {
  const isPublished = predicate('ne', listingColumn(of, 'StandardStatus', source), textLiteral(DRAFT))
  const isDisplayed =
    actor.audience === 'public'
      ? isNotFalse(listingColumn(of, 'InternetEntireListingDisplayYN', source))
      : TRUE
  return anyOf(isWritableListing(of, source, actor), allOf(isPublished, isDisplayed))
}

/** The log has no relation to the listing: events outlive it. */
const LISTING_OF_EVENT: Navigation = {
  kind: 'navigation', name: 'Listing', collection: false, target: 'Property', description: '', local: 'PropertyKey', foreign: 'ListingKey', relation: false, hidden: true,
} // biome-ignore format: one row

/** Navigation from a record of a listing to that listing. */
const LISTING_NAVIGATIONS: Readonly<Record<string, Navigation | undefined>> = {
  Media: requireNavigation('Media', 'Property'),
  Rooms: requireNavigation('Rooms', 'Listing'),
  OpenHouse: requireNavigation('OpenHouse', 'Listing'),
  EntityEvent: LISTING_OF_EVENT,
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
 * Returns the condition under which the actor can see a record (decisions 6). Drafts are visible to actors
 * that may write them. Listings whose seller excludes the internet are hidden from the public. Records of a
 * listing are visible with the listing. An event of a deleted listing is visible to actors that could see the
 * listing at the time of the event.
 */
export function isRecordVisible(of: Entity, row: RowName, actor: Actor): Expr {
  const source = rowSource(row)
  if (of === PROPERTY) return isVisibleListing(of, source, actor)
  const toListing = LISTING_NAVIGATIONS[of.name]
  if (!toListing) return TRUE
  const listing = nextRow(row)
  const any = (body?: Expr): Expr => ({
    kind: 'lambda',
    quantifier: 'any',
    over: { kind: 'records', navigation: toListing, source },
    row: listing,
    ...(body && { body }),
    type: 'Boolean',
  })
  const isListingVisible = isVisibleListing(PROPERTY, rowSource(listing), actor)
  if (isListingVisible === TRUE) return TRUE
  const hasNoListing = predicate(
    'eq',
    columnOf(getScalar(of, toListing.local), source),
    nullLiteral('String'),
  )
  const isListingDeleted =
    toListing === LISTING_OF_EVENT
      ? allOf(predicate('not', any()), isVisibleListing(of, source, actor))
      : FALSE
  return anyOf(hasNoListing, any(isListingVisible), isListingDeleted)
}

const EVENT = getEntity('EntityEvent')

/** Navigation from an event to the events of the same listing. */
const EVENTS_OF_LISTING: Navigation = {
  kind: 'navigation', name: 'Events', collection: true, target: 'EntityEvent', description: '', local: 'PropertyKey', foreign: 'PropertyKey', relation: false, hidden: true,
} // biome-ignore format: one row

/**
 * Returns the condition under which a subscription of the actor receives an event of a listing. The actor can
 * see the event, or could see the previous event of the listing: then this event hides the listing from the
 * actor. The actor receives no later event of a hidden listing.
 */
export function isEventVisible(row: RowName, actor: Actor): Expr {
  const isVisibleNow = isRecordVisible(EVENT, row, actor)
  if (isVisibleNow === TRUE) return TRUE
  const previous = nextRow(row)
  const wasVisible: Expr = {
    kind: 'lambda',
    quantifier: 'any',
    over: { kind: 'previous', navigation: EVENTS_OF_LISTING, source: rowSource(row) },
    row: previous,
    body: isVisibleListing(EVENT, rowSource(previous), actor),
    type: 'Boolean',
  }
  return anyOf(isVisibleNow, wasVisible)
}

const nextRow = (row: RowName): RowName => `r${Number(row.slice(1)) + 1}`

/**
 * Returns the condition under which the actor can read a field of the record at `source` (fields.csv,
 * readableBy; decisions 6).
 */
export function isFieldReadable(
  field: Scalar,
  source: ColumnSource,
  actor: Actor,
  policy: DisclosurePolicy,
): Expr {
  const isMemberOrStaff = actor.audience !== 'public'
  switch (field.readableBy) {
    case 'everyone':
      return field.address && !isMemberOrStaff
        ? anyOf(
            isNotFalse(listingColumn(PROPERTY, 'InternetAddressDisplayYN', source)),
            isOwnListing(PROPERTY, source, actor),
          )
        : TRUE
    case 'member':
      return isMemberOrStaff ? TRUE : FALSE
    case 'disclosed':
      return isMemberOrStaff || !policy.nonDisclosure ? TRUE : FALSE
    case 'own':
      return actor.audience === 'staff' ? TRUE : isOwnListing(PROPERTY, source, actor)
    case 'nobody':
      return FALSE
  }
}
