import type { GraphQLField, GraphQLObjectType } from 'graphql'
import { LRUCache } from 'lru-cache'
import type { ParseLimits } from '../../language/parse-limits.js'
import type { Entity } from '../../model/model.js'
import type { Query } from '../../query/ast.js'
import { getOrCreate, memoize, objectId } from '../../query/memoize.js'
import type { ReadRequest, ReadService } from '../../service/reading.js'
import type { WriteService } from '../../service/writing.js'
import type { GraphQLContext } from '../context.js'
import type { CollectedField, InputValues, SelectionContext } from './collect-fields.js'
import { GRAPHQL_NOTATION, readSelection } from './selection.js'

/** The parts of the port that answer operations, and what one text in the language of OData may cost. */
export interface ServicePort {
  readonly reading: ReadService
  readonly writing: WriteService
  readonly limits: ParseLimits
}

/** A field of Query or Mutation that an operation asks for, with everything that its answer rests on. */
export interface RootFieldInfo {
  readonly port: ServicePort
  /** What its selection is read with. */
  readonly selectionContext: SelectionContext
  /** What its arguments are read with. */
  readonly variables: InputValues
  readonly context: GraphQLContext
  readonly parentType: GraphQLObjectType
  readonly field: GraphQLField<unknown, unknown>
  readonly collected: CollectedField
}

/** The same with its arguments. */
export interface RootFieldContext extends RootFieldInfo {
  readonly args: InputValues
}

/**
 * The selections of the same frame are read once, and with them is kept what others make of them: the plan's
 * parts, and their SQL.
 */
const recordViewOf = memoize(function recordViewOf(
  collected: CollectedField,
  selectionContext: SelectionContext,
  port: ServicePort,
  of: Entity,
): ReadRequest {
  return {
    query: readSelection(selectionContext, port, of, collected.fieldNodes),
    representation: GRAPHQL_NOTATION,
  }
})

/** What is read of a record, and how it is written. */
export const viewOf = (
  of: Entity,
  { collected, selectionContext, port }: Pick<RootFieldInfo, 'collected' | 'selectionContext' | 'port'>,
): ReadRequest => recordViewOf(collected, selectionContext, port, of)

/**
 * Queries by the place that asks and the arguments there. What is made of one, its plans and SQL included,
 * takes some ten kilobytes.
 */
const QUERY_CACHE = new LRUCache<string, Query>({
  max: 1000,
  maxSize: 2 ** 19,
  sizeCalculation: (_, text) => text.length,
})

/**
 * The query that a field and its arguments state: the same object for the same ones, so that what others make
 * of it is kept with it. Front ends ask the same again and again. Cursors are left aside: all pages of a walk
 * have one query.
 */
export function cachedQueryOf(
  collected: CollectedField,
  { after: _, before: __, ...args }: InputValues,
  read: () => Query,
): Query {
  return getOrCreate(QUERY_CACHE, `${objectId(collected)} ${JSON.stringify(args)}`, read)
}
