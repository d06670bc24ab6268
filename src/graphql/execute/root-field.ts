import type { GraphQLField, GraphQLObjectType } from 'graphql'
import type { ParseLimits } from '../../language/parse-limits.js'
import type { Entity } from '../../model/model.js'
import type { Query } from '../../query/ast.js'
import { memoize, objectId } from '../../query/memoize.js'
import type { PlanCache, PlanCacheLevel } from '../../query/plan-cache.js'
import type { WriteServices } from '../../service/admin/record-writer.js'
import type { DeltaService } from '../../service/deltas.js'
import type { DigestService } from '../../service/digest.js'
import type { ReadRequest, ReadService } from '../../service/reading.js'
import type { GraphQLContext } from '../context.js'
import type { SchemaModel } from '../schema/schema-model.js'
import type { CollectedField, InputValues, SelectionContext } from './collect-fields.js'
import { GRAPHQL_REPRESENTATION, readSelection } from './selection.js'

/** The services that resolve operations, their model, and the limits of texts in the OData language. */
export interface ServicePort extends WriteServices {
  readonly model: SchemaModel
  readonly reading: ReadService
  readonly plans: PlanCache
  readonly deltas: DeltaService
  readonly digests: DigestService
  readonly limits: ParseLimits
}

/** A selected field of Query or Mutation, with the inputs of its result. */
export interface RootFieldInfo {
  readonly port: ServicePort
  /** The context for reading its selection. */
  readonly selectionContext: SelectionContext
  /** The variables for its arguments. */
  readonly variables: InputValues
  readonly context: GraphQLContext
  readonly parentType: GraphQLObjectType
  readonly field: GraphQLField<unknown, unknown>
  readonly collected: CollectedField
}

/** A root field with its coerced arguments. */
export interface RootFieldContext extends RootFieldInfo {
  readonly args: InputValues
}

/**
 * Memoized by the operation plan's field, so that a selection is read once and its plan parts and SQL are
 * cached.
 */
const readRequestOf = memoize(function readRequestOf(
  collected: CollectedField,
  selectionContext: SelectionContext,
  port: ServicePort,
  of: Entity,
): ReadRequest {
  return {
    query: readSelection(selectionContext, port, of, collected.fieldNodes),
    representation: GRAPHQL_REPRESENTATION,
  }
})

/** Returns the query of a record's selection, with its representation. */
export const toReadRequest = (
  of: Entity,
  { collected, selectionContext, port }: Pick<RootFieldInfo, 'collected' | 'selectionContext' | 'port'>,
): ReadRequest => readRequestOf(collected, selectionContext, port, of)

/** Queries by field and arguments, with their plans. */
const FIELD_QUERY_LEVEL: PlanCacheLevel<Query> = {
  name: 'GraphQL field',
  sizeOf: key => 4 + key.length / 20,
}

/**
 * Returns the query of a field and its arguments. Equal fields and arguments share one object, so that
 * results memoized by it are reused. Front ends repeat queries often. Cursors and tokens are excluded: all pages
 * of a connection share one query, and all changes of a query too.
 */
export function cachedQueryOf(
  plans: PlanCache,
  collected: CollectedField,
  { after: _, before: __, since: ___, ...args }: InputValues,
  read: () => Query,
): Query {
  return plans.getOrCreate(FIELD_QUERY_LEVEL, `${objectId(collected)} ${JSON.stringify(args)}`, read)
}
