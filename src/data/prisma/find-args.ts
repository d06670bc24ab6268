import type { Scalar } from '../../model/model.js'
import { type PlaceholderValues, placeholderIndex } from '../../query/placeholder.js'
import {
  type Expansion,
  type Expr,
  isRowColumn,
  isTrue,
  type KeysetPosition,
  type OrderByTerm,
  type Plan,
  reverseOrder,
} from '../../query/plan.js'
import type { Representation } from '../../query/representation.js'
import { recordFieldsOf, toRecordLayout } from './record-layout.js'
import { type PrismaWhere, toPrismaWhere } from './where.js'

/** The arguments of `findMany`. Names are those of the Prisma schema, which are those of the model. */
export interface FindArgs {
  readonly where?: PrismaWhere
  readonly orderBy: readonly PrismaOrderBy[]
  readonly select: PrismaSelect
  readonly take?: number
  readonly skip?: number
}

type PrismaOrderBy = { readonly [field: string]: 'asc' | 'desc' | PrismaNullsOrder }
interface PrismaNullsOrder {
  readonly sort: 'asc' | 'desc'
  readonly nulls: 'first' | 'last'
}
export type PrismaSelect = { readonly [name: string]: true | FindArgs | { readonly select: object } }

/** The part of a plan that Prisma has no argument for. `reason` is counted by the read engine. */
export class NotExpressibleError extends Error {
  constructor(readonly reason: string) {
    super(`Prisma has no argument for ${reason}`)
  }
}

const notExpressible = (reason: string): never => {
  throw new NotExpressibleError(reason)
}

/**
 * Translates a plan into the arguments of `findMany`.
 * `$filter=City eq 'Vail'&$orderby=ListPrice desc&$top=10` →
 * `{ where: { City: { equals: 'Vail' } }, orderBy: [{ ListPrice: { sort: 'desc', nulls: 'last' } }, { ListingKey: 'asc' }], take: 11 }`
 * @param limit records to read; undefined: all.
 * @throws NotExpressibleError for functions, arithmetic, `$apply`, `$compute`, `$search`, and navigation by a
 * reference without a foreign key.
 */
export function toFindArgs(
  plan: Plan,
  representation: Representation,
  parameters: PlaceholderValues,
  limit: number | undefined,
): FindArgs {
  if (plan.from) notExpressible('$apply')
  if (representation.full) notExpressible('links of records')
  const conditions = [
    ...(plan.filter && !isTrue(plan.filter) ? [toWhere(plan.filter, plan.row, parameters)] : []),
    ...(plan.after ? [toKeysetWhere(plan.orderBy, toPosition(plan.after, parameters))] : []),
    ...(plan.before ? [toKeysetWhere(reverseOrder(plan).orderBy, toPosition(plan.before, parameters))] : []),
  ]
  return {
    ...(conditions.length > 0 && { where: conditions.length === 1 ? conditions[0] : { AND: conditions } }),
    orderBy: toOrderBy(plan.orderBy),
    select: toSelect(plan, representation),
    ...(limit !== undefined && { take: limit }),
    ...(plan.skip > 0 && { skip: plan.skip }),
  }
}

/** The `where` of a filter. @throws NotExpressibleError. */
export function toWhere(filter: Expr, row: Plan['row'], parameters: PlaceholderValues): PrismaWhere {
  return toPrismaWhere(withParameters(filter, parameters), row) ?? notExpressible(reasonOf(filter))
}

/** Null sorts below every value (decisions 2). Prisma takes `nulls` for nullable fields only. */
function toOrderBy(orderBy: readonly OrderByTerm[]): readonly PrismaOrderBy[] {
  return orderBy.map(({ expr, descending }) => {
    const { name, nullable } = columnOfTerm(expr)
    const sort = descending ? 'desc' : 'asc'
    return { [name]: nullable ? { sort, nulls: descending ? 'last' : 'first' } : sort }
  })
}

function columnOfTerm(expr: Expr): Scalar {
  return isRowColumn(expr) && expr.scalar.type !== 'GeographyPoint'
    ? expr.scalar
    : notExpressible(`order by ${reasonOf(expr)}`)
}

function toSelect(plan: Plan, representation: Representation): PrismaSelect {
  const layout = toRecordLayout(plan, representation)
  if (!layout) return notExpressible('computed values')
  const fields = [...recordFieldsOf(layout), ...plan.orderBy.map(({ expr }) => columnOfTerm(expr).name)]
  const navigations = layout.expansions.map(({ navigation }) => navigation.name)
  if (new Set(navigations).size < navigations.length) notExpressible('one navigation expanded twice')
  const counted = layout.expansions.filter(isCounted)
  return {
    ...Object.fromEntries(fields.map(name => [name, true])),
    ...Object.fromEntries(
      layout.expansions
        .filter(({ form }) => form !== 'count')
        .map(e => [e.navigation.name, toExpansionArgs(e, representation)]),
    ),
    ...(counted.length > 0 && {
      _count: { select: Object.fromEntries(counted.map(e => [e.navigation.name, toCountArgs(e)])) },
    }),
  }
}

/** True if the answer holds the number of related records. */
export const isCounted = ({ form, plan, navigation }: Expansion): boolean =>
  form === 'count' || (plan.count && navigation.collection)

function toCountArgs({ plan }: Expansion): true | { readonly where: PrismaWhere } {
  return plan.filter && !isTrue(plan.filter) ? { where: toWhere(plan.filter, plan.row, []) } : true
}

function toExpansionArgs(
  { navigation, form, plan }: Expansion,
  representation: Representation,
): FindArgs | { readonly select: object } {
  if (!navigation.relation) notExpressible(`navigation by a reference without a foreign key`)
  if (form === 'references') notExpressible('references')
  if (navigation.collection) return toFindArgs(plan, representation, [], plan.top)
  if (plan.filter && !isTrue(plan.filter)) notExpressible('a filter on one related record')
  return { select: toSelect(plan, representation) }
}

/**
 * The records after a position in an order: those beyond it in the first term, or equal in the first and
 * beyond it in the next.
 */
function toKeysetWhere(orderBy: readonly OrderByTerm[], position: KeysetPosition): PrismaWhere {
  const terms = orderBy.map(({ expr, descending }, i) => {
    const scalar = columnOfTerm(expr)
    const text = position[i] ?? null
    return { scalar, descending, value: text === null ? null : toKeysetValue(scalar, text) }
  })
  return {
    OR: terms.flatMap((term, i) => {
      const beyond = toBeyondWhere(term)
      const equal = terms.slice(0, i).map(({ scalar, value }) => ({ [scalar.name]: value }))
      return beyond ? [equal.length === 0 ? beyond : { AND: [...equal, beyond] }] : []
    }),
  }
}

interface KeysetTerm {
  readonly scalar: Scalar
  readonly descending: boolean
  readonly value: unknown
}

/** Undefined: nothing is beyond null in a descending order. */
function toBeyondWhere({
  scalar: { name, nullable },
  descending,
  value,
}: KeysetTerm): PrismaWhere | undefined {
  if (value === null) return descending ? undefined : { [name]: { not: null } }
  if (!descending) return { [name]: { gt: value } }
  return nullable ? { OR: [{ [name]: { lt: value } }, { [name]: null }] } : { [name]: { lt: value } }
}

/** The value of an order term, from PostgreSQL's text of it. */
function toKeysetValue({ name, type }: Scalar, text: string): unknown {
  switch (type) {
    case 'Int32':
      return Number(text)
    case 'Int64':
      return BigInt(text)
    case 'Date':
      return `${text}T00:00:00.000Z`
    case 'DateTimeOffset':
      return `${text.replace(' ', 'T').replace(/\+00$/, '')}Z`
    case 'Boolean':
      return notExpressible(`a comparison of ${name}`)
    default:
      return text
  }
}

const toPosition = (position: KeysetPosition, parameters: PlaceholderValues): KeysetPosition =>
  position.map(value => {
    const index = placeholderIndex(value)
    return index === undefined ? value : (parameters[index] as string | null) // the position of the request
  })

/** The expression with the values of the request in place of its placeholders. */
function withParameters(expr: Expr, parameters: PlaceholderValues): Expr {
  if (parameters.length === 0) return expr
  if (expr.kind === 'literal') {
    const index = placeholderIndex(expr.value)
    return index === undefined ? expr : { ...expr, value: parameters[index] as string } // keys are texts
  }
  return expr.kind === 'call'
    ? { ...expr, args: expr.args.map(arg => withParameters(arg, parameters)) }
    : expr
}

const EXPRESSIBLE_FUNCTIONS: ReadonlySet<string> = new Set(
  'and or not eq ne gt ge lt le in contains startswith endswith'.split(' '),
)

/** The first part of an expression that Prisma has no argument for, in words. */
function reasonOf(expr: Expr | undefined): string {
  switch (expr?.kind) {
    case 'call':
      return EXPRESSIBLE_FUNCTIONS.has(expr.fn)
        ? (expr.args.map(reasonOf).find(reason => reason !== OTHER_REASON) ?? OTHER_REASON)
        : `the function ${expr.fn}`
    case 'search':
      return '$search'
    case 'count':
      return '$count in an expression'
    case 'cast':
      return 'the function cast'
    case 'column':
      return expr.source.kind === 'row' ? OTHER_REASON : 'a field of a related record'
    case 'lambda':
      return expr.over.kind === 'records' && !expr.over.navigation.relation
        ? 'navigation by a reference without a foreign key'
        : reasonOf(expr.body)
    default:
      return OTHER_REASON
  }
}

const OTHER_REASON = 'a comparison of other values than a field and a literal'
