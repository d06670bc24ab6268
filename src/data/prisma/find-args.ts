import type { ParameterValues } from '../../query/parameter.js'
import {
  type Expansion,
  type Expr,
  isTrue,
  type KeysetPosition,
  ParameterRef,
  type Plan,
  type PlanPosition,
  reverseOrder,
} from '../../query/plan.js'
import type { Representation } from '../../query/representation.js'
import { allWhere, type FieldReferences, MATCH_ALL, type PrismaWhere } from './condition.js'
import { toKeysetWhere } from './keyset-where.js'
import { notExpressible } from './not-expressible.js'
import { columnOfTerm, countedNavigationOf, type PrismaOrderBy, toOrderBy } from './order-by.js'
import { recordFieldsOf, toRecordLayout } from './record-layout.js'
import { toPrismaWhere } from './where.js'

/** The arguments of `findMany`. Names are those of the Prisma schema, which are those of the model. */
export interface FindArgs {
  readonly where?: PrismaWhere
  readonly orderBy: readonly PrismaOrderBy[]
  readonly select: PrismaSelect
  readonly take?: number
  readonly skip?: number
}

export type PrismaSelect = { readonly [name: string]: true | FindArgs | { readonly select: object } }

/** The inputs of the arguments besides the plan. */
export interface FindOptions {
  readonly representation: Representation
  /** The values of the request, in place of the plan's parameters. */
  readonly parameters: ParameterValues
  /** Maximum number of records, or undefined for all. */
  readonly limit: number | undefined
  readonly fieldReferences: FieldReferences
}

/**
 * Translates a plan into the arguments of `findMany`.
 * `$filter=City eq 'Vail'&$orderby=ListPrice desc&$top=10` →
 * `{ where: { City: { equals: 'Vail' } }, orderBy: [{ ListPrice: { sort: 'desc', nulls: 'last' } }, { ListingKey: 'asc' }], take: 11 }`
 * @throws NotExpressibleError for functions, arithmetic, `$apply`, `$compute`, `$search`, and navigation by a
 * reference without a foreign key.
 */
export function toFindArgs(plan: Plan, options: FindOptions): FindArgs {
  if (plan.from) notExpressible('$apply')
  if (options.representation.full) notExpressible('links of records')
  const where = toPageWhere(plan, options)
  return {
    ...(where && { where }),
    orderBy: plan.orderBy.map(toOrderBy),
    select: toSelect(plan, options),
    ...(options.limit !== undefined && { take: options.limit }),
    ...(plan.skip > 0 && { skip: plan.skip }),
  }
}

/**
 * Returns the `where` of a page: the filter, and the positions that bound the page. Undefined if it has
 * neither.
 */
function toPageWhere(plan: Plan, options: FindOptions): PrismaWhere | undefined {
  const { parameters } = options
  const where = allWhere(
    toFilterWhere(plan, options) ?? MATCH_ALL,
    plan.after ? toKeysetWhere(plan.orderBy, toPosition(plan.after, parameters)) : MATCH_ALL,
    plan.before ? toKeysetWhere(reverseOrder(plan).orderBy, toPosition(plan.before, parameters)) : MATCH_ALL,
  )
  return where === MATCH_ALL ? undefined : where
}

const toPosition = (position: PlanPosition, parameters: ParameterValues): KeysetPosition =>
  position.map(value => (value instanceof ParameterRef ? (parameters[value.index] as string) : value)) // the position of the request

/** Returns the `where` of the filter of a plan, or undefined if it selects all records. */
export function toFilterWhere(
  { filter, entity, row }: Pick<Plan, 'filter' | 'entity' | 'row'>,
  { parameters, fieldReferences }: Pick<FindOptions, 'parameters' | 'fieldReferences'>,
): PrismaWhere | undefined {
  if (!filter || isTrue(filter)) return undefined
  return toPrismaWhere(withParameters(filter, parameters), { entity, row, fieldReferences })
}

function toSelect(plan: Plan, options: FindOptions): PrismaSelect {
  const layout = toRecordLayout(plan, options.representation)
  if (!layout) return notExpressible('computed values')
  const ordered = plan.orderBy.filter(({ expr }) => countedNavigationOf(expr) === undefined)
  const fields = [...recordFieldsOf(layout), ...ordered.map(({ expr }) => columnOfTerm(expr).name)]
  const navigations = layout.expansions.map(({ navigation }) => navigation.name)
  if (new Set(navigations).size < navigations.length) notExpressible('one navigation expanded twice')
  const counts = toCounts(plan, layout.expansions.filter(isCounted), options)
  return {
    ...Object.fromEntries(fields.map(name => [name, true])),
    ...Object.fromEntries(
      layout.expansions
        .filter(({ form }) => form !== 'count')
        .map(e => [e.navigation.name, toExpansionArgs(e, options)]),
    ),
    ...(Object.keys(counts).length > 0 && { _count: { select: counts } }),
  }
}

type CountArgs = Readonly<Record<string, true | { readonly where: PrismaWhere }>>

/** Returns the counts of related records that the response or the order needs. */
function toCounts(plan: Plan, counted: readonly Expansion[], options: FindOptions): CountArgs {
  const sorted = plan.orderBy.flatMap(({ expr }) => countedNavigationOf(expr) ?? [])
  const shown = counted.map(({ navigation, plan: inner }) => {
    const where = toFilterWhere(inner, { ...options, parameters: [] })
    if (where && sorted.includes(navigation.name)) return notExpressible('two counts of one navigation')
    return [navigation.name, where ? { where } : true] as const
  })
  return Object.fromEntries([...sorted.map(name => [name, true] as const), ...shown])
}

/** True if the response contains the number of related records. */
export const isCounted = ({ form, plan, navigation }: Expansion): boolean =>
  form === 'count' || (plan.count && navigation.collection)

function toExpansionArgs(
  { navigation, form, plan }: Expansion,
  options: FindOptions,
): FindArgs | { readonly select: object } {
  if (!navigation.relation) notExpressible('navigation by a reference without a foreign key')
  if (form === 'references') notExpressible('references')
  if (navigation.collection) return toFindArgs(plan, { ...options, parameters: [], limit: plan.top })
  if (plan.filter && !isTrue(plan.filter)) notExpressible('a filter on one related record')
  return { select: toSelect(plan, options) }
}

/** Returns the expression with the values of the request in place of its parameters. */
function withParameters(expr: Expr, parameters: ParameterValues): Expr {
  if (parameters.length === 0) return expr
  if (expr.kind === 'parameter')
    return { kind: 'literal', value: parameters[expr.index] as string, type: expr.type } // keys are texts
  return expr.kind === 'call'
    ? { ...expr, args: expr.args.map(arg => withParameters(arg, parameters)) }
    : expr
}
