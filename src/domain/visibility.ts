import { type Entity, entity, type Navigation, type Scalar, scalar } from '../model/model.js'
import {
  allOf,
  anyOf,
  call,
  columnOf,
  type Expr,
  FALSE,
  nullLiteral,
  type RowName,
  rowSource,
  type Source,
  TRUE,
  textLiteral,
} from '../query/plan.js'
import type { Actor } from './actor.js'
import { DRAFT } from './lifecycle.js'

/** What the market has decided about all readers. */
export interface Policy {
  /** NON_DISCLOSURE: prices paid and buyers are for members and staff only. */
  readonly nonDisclosure: boolean
}

const PROPERTY = entity('Property')

const listingColumn = (of: Entity, name: string, source: Source) => columnOf(scalar(of, name), source)
const isNotFalse = (column: Expr) => call('ne', column, { kind: 'literal', value: false, type: 'Boolean' })

/**
 * The listing is that of the actor's own agent or office (decisions 6). `of` is Property, or the log that
 * keeps the same columns.
 */
function isOwn(of: Entity, source: Source, { memberKey, officeKey }: Actor): Expr {
  const equals = (field: string, key: string | undefined) =>
    key === undefined ? FALSE : call('eq', listingColumn(of, field, source), textLiteral(key))
  return anyOf(
    equals('ListAgentKey', memberKey),
    equals('ListOfficeKey', memberKey),
    equals('ListOfficeKey', officeKey),
  )
}

/** The actor may change the listing: the condition that `mayWrite` in access.ts checks on one record. */
function isWritable(of: Entity, source: Source, actor: Actor): Expr {
  if (actor.scopes.has('listings:write:any')) return TRUE
  return actor.scopes.has('listings:write') ? isOwn(of, source, actor) : FALSE
}

function isVisibleListing(of: Entity, source: Source, actor: Actor): Expr {
  const published = call('ne', listingColumn(of, 'StandardStatus', source), textLiteral(DRAFT))
  const shown =
    actor.audience === 'public'
      ? isNotFalse(listingColumn(of, 'InternetEntireListingDisplayYN', source))
      : TRUE
  return anyOf(isWritable(of, source, actor), allOf(published, shown))
}

/** The log has no relation to the listing, since it outlives it. */
const LISTING_OF_EVENT: Navigation = {
  kind: 'navigation', name: 'Listing', collection: false, target: 'Property', description: '', local: 'PropertyKey', foreign: 'ListingKey', relation: false, hidden: true,
} // biome-ignore format: one row

/** From a record that belongs to a listing to that listing. */
const LISTING: Readonly<Record<string, Navigation | undefined>> = {
  Media: navigation('Media', 'Property'),
  Rooms: navigation('Rooms', 'Listing'),
  OpenHouse: navigation('OpenHouse', 'Listing'),
  EntityEvent: LISTING_OF_EVENT,
}

function navigation(of: string, name: string): Navigation {
  const found = entity(of).fields.get(name) ?? entity(of).hidden.get(name)
  if (found?.kind !== 'navigation') throw new Error(`No navigation ${of}.${name} in the model`)
  return found
}

/** Who may see a record may see the records at the other end: both belong to one listing. */
export const staysInListing = ({ target, local, foreign }: Navigation) =>
  (foreign === LISTING[target]?.local && local === PROPERTY.key.name) ||
  (target === PROPERTY.name && local === PROPERTY.key.name)

/**
 * The condition under which the actor can see a record: drafts are for those who may write them, listings
 * that the seller keeps from the internet are not for the public, and what belongs to a listing is there only
 * with it (decisions 6). An event of a listing that is gone is shown to those who could see the listing at
 * that moment.
 */
export function isVisible(of: Entity, row: RowName, actor: Actor): Expr {
  const source = rowSource(row)
  if (of === PROPERTY) return isVisibleListing(of, source, actor)
  const toListing = LISTING[of.name]
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
  const seen = isVisibleListing(PROPERTY, rowSource(listing), actor)
  if (seen === TRUE) return TRUE
  const free = call('eq', columnOf(scalar(of, toListing.local), source), nullLiteral('String'))
  const gone =
    toListing === LISTING_OF_EVENT ? allOf(call('not', any()), isVisibleListing(of, source, actor)) : FALSE
  return anyOf(free, any(seen), gone)
}

const EVENT = entity('EntityEvent')

/** From an event to those of the same listing. */
const EVENTS_OF_LISTING: Navigation = {
  kind: 'navigation', name: 'Events', collection: true, target: 'EntityEvent', description: '', local: 'PropertyKey', foreign: 'PropertyKey', relation: false, hidden: true,
} // biome-ignore format: one row

/**
 * The condition under which the actor is told of an event of a listing: it can see the event, or it was this
 * change that took the listing from its sight, as the event before shows. Of what happens to the listing
 * afterwards it hears nothing.
 */
export function isTold(row: RowName, actor: Actor): Expr {
  const seen = isVisible(EVENT, row, actor)
  if (seen === TRUE) return TRUE
  const [before, between] = [nextRow(row), nextRow(nextRow(row))]
  const sequence = (of: RowName) => columnOf(EVENT.key, rowSource(of))
  const anyEvent = (of: RowName, body: Expr): Expr => ({
    kind: 'lambda',
    quantifier: 'any',
    over: { kind: 'records', navigation: EVENTS_OF_LISTING, source: rowSource(row) },
    row: of,
    body,
    type: 'Boolean',
  })
  const isBetween = allOf(
    call('gt', sequence(between), sequence(before)),
    call('lt', sequence(between), sequence(row)),
  )
  const isBefore = allOf(
    call('lt', sequence(before), sequence(row)),
    call('not', anyEvent(between, isBetween)),
  )
  return anyOf(seen, anyEvent(before, allOf(isBefore, isVisibleListing(EVENT, rowSource(before), actor))))
}

const nextRow = (row: RowName): RowName => `r${Number(row.slice(1)) + 1}`

/**
 * The condition under which the actor may read a field of the record at `source` (fields.csv, readableBy;
 * decisions 6).
 */
export function isReadable(field: Scalar, source: Source, actor: Actor, policy: Policy): Expr {
  const inside = actor.audience !== 'public'
  switch (field.readableBy) {
    case 'everyone':
      return field.address && !inside
        ? anyOf(
            isNotFalse(listingColumn(PROPERTY, 'InternetAddressDisplayYN', source)),
            isOwn(PROPERTY, source, actor),
          )
        : TRUE
    case 'member':
      return inside ? TRUE : FALSE
    case 'disclosed':
      return inside || !policy.nonDisclosure ? TRUE : FALSE
    case 'own':
      return actor.audience === 'staff' ? TRUE : isOwn(PROPERTY, source, actor)
    case 'nobody':
      return FALSE
  }
}
