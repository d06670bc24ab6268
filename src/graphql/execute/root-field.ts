import type { GraphQLField, GraphQLObjectType } from 'graphql'
import { LRUCache } from 'lru-cache'
import type { ParseLimits } from '../../language/parser-budget.js'
import type { Entity } from '../../model/model.js'
import type { Query } from '../../query/ast.js'
import { numberOf, recall, remember } from '../../query/memoize.js'
import type { Reading, View } from '../../service/reading.js'
import type { Writing } from '../../service/writing.js'
import type { GraphQLContext } from '../context.js'
import type { Asked, Input, Operation } from './operation.js'
import { NOTATION, readSelection } from './selection.js'

/** The parts of the port that answer operations, and what one text in the language of OData may cost. */
export interface Port {
  readonly reading: Reading
  readonly writing: Writing
  readonly limits: ParseLimits
}

/** A field of Query or Mutation that an operation asks for, with everything that its answer rests on. */
export interface RootAsked {
  readonly port: Port
  /** What its selection is read with. */
  readonly shape: Operation
  /** What its arguments are read with. */
  readonly variables: Input
  readonly context: GraphQLContext
  readonly type: GraphQLObjectType
  readonly field: GraphQLField<unknown, unknown>
  readonly asked: Asked
}

/** The same with its arguments. */
export interface Asking extends RootAsked {
  readonly args: Input
}

/**
 * The selections of the same frame are read once, and with them is kept what others make of them: the plan's
 * parts, and their SQL.
 */
const recordOf = remember(
  (asked: Asked, shape: Operation, port: Port, of: Entity): View => ({
    query: readSelection(shape, port, of, asked.nodes),
    notation: NOTATION,
  }),
)

/** What is read of a record, and how it is written. */
export const viewOf = (
  of: Entity,
  { asked, shape, port }: Pick<RootAsked, 'asked' | 'shape' | 'port'>,
): View => recordOf(asked, shape, port, of)

/**
 * Queries by the place that asks and the arguments there. What is made of one, its plans and SQL included,
 * takes some ten kilobytes.
 */
const KEPT = new LRUCache<string, Query>({
  max: 1000,
  maxSize: 2 ** 19,
  sizeCalculation: (_, text) => text.length,
})

/**
 * The query that a field and its arguments state: the same object for the same ones, so that what others make
 * of it is kept with it. Front ends ask the same again and again. Cursors are left aside: all pages of a walk
 * have one query.
 */
export function queryOf(asked: Asked, { after: _, before: __, ...args }: Input, read: () => Query): Query {
  return recall(KEPT, `${numberOf(asked)} ${JSON.stringify(args)}`, read)
}
