import type { WritePlan } from '../../src/domain/write-plan.js'
import { parameterIndex } from '../../src/domain/write-shape.js'
import { getEntity } from '../../src/model/model.js'
import type { Ast, Query } from '../../src/query/ast.js'
import type { ColumnSource, Expansion, Expr, OrderByTerm, Plan, SelectItem } from '../../src/query/plan.js'

// Queries and plans in a short notation for docs/architecture.md: names for objects of the model, no positions.

const list = (items: readonly string[]): string => items.join(', ')
const describeOrder = (text: string, descending: boolean): string => `${text}${descending ? ' desc' : ''}`

/** One line per member. Members without a value are left out. */
function lines(members: Readonly<Record<string, string | undefined>>, indent = ''): string {
  return Object.entries(members)
    .filter(([, value]) => value !== undefined && value !== '')
    .map(([name, value]) => `${indent}${name.padEnd(8)} ${value}`)
    .join('\n')
}

function describeAst(ast: Ast): string {
  if (ast.kind === 'path') return ast.names.join('/')
  if (ast.kind === 'call') return `${ast.fn}(${list(ast.args.map(describeAst))})`
  if (ast.kind === 'literal') return `${JSON.stringify(ast.value)}: ${ast.type}`
  throw new Error(`The notation has no form for ${ast.kind}`)
}

export const describeQuery = (query: Query, indent = ''): string =>
  lines(
    {
      filter: query.filter && describeAst(query.filter),
      orderBy:
        query.orderBy && list(query.orderBy.map(o => describeOrder(describeAst(o.expr), o.descending))),
      select:
        query.select &&
        list(query.select.map(({ name, as }) => (as && as !== name ? `${name} as ${as}` : name))),
      expand:
        query.expand &&
        list(
          query.expand.map(
            ({ name, query: nested }) => `${name} {\n${describeQuery(nested, `${indent}  `)} }`,
          ),
        ),
      top: query.top?.toString(),
      count: query.count?.toString(),
    },
    indent,
  )

function describeSource(source: ColumnSource): string {
  if (source.kind === 'row') return source.row
  if (source.kind === 'key') return `${source.entity.name}(${describeExpr(source.key)})`
  throw new Error(`The notation has no form for the source ${source.kind}`)
}

/** `:ListPrice` is the value that a write gives, `:now` its time. */
const WRITE_PARAMETERS: ReadonlyMap<number, string> = new Map(
  ['key', 'now', 'today', 'writer', ...getEntity('Property').fields.keys()].map(name => [
    parameterIndex(name),
    name,
  ]),
)

export function describeExpr(expr: Expr): string {
  if (expr.kind === 'column') return `${describeSource(expr.source)}.${expr.scalar.name}: ${expr.type}`
  if (expr.kind === 'call') return `${expr.fn}(${list(expr.args.map(describeExpr))})`
  if (expr.kind === 'literal') return `${JSON.stringify(expr.value)}: ${expr.type}`
  if (expr.kind === 'parameter') return `:${WRITE_PARAMETERS.get(expr.index) ?? expr.index}`
  throw new Error(`The notation has no form for ${expr.kind}`)
}

const MAX_FILTER_WIDTH = 100

/** A long filter has a line for each operand of its outermost `and`. */
function describeFilter(filter: Expr, indent: string): string {
  const text = describeExpr(filter)
  if (text.length <= MAX_FILTER_WIDTH || filter.kind !== 'call') return text
  const separator = `,\n${indent}${' '.repeat('filter   and('.length)}`
  return `${filter.fn}(${filter.args.map(describeExpr).join(separator)})`
}

const describeSelectItem = (item: SelectItem): string => {
  if (item.kind === 'computed') return item.name
  return item.as === undefined || item.as === item.scalar.name
    ? item.scalar.name
    : `${item.scalar.name} as ${item.as}`
}

const describeOrderBy = (orderBy: readonly OrderByTerm[]): string =>
  list(orderBy.map(({ expr, descending }) => describeOrder(describeExpr(expr), descending)))

const describeExpansion = ({ navigation, plan }: Expansion, indent: string): string =>
  `${navigation.name} {\n${describePlan(plan, `${indent}  `)} }`

/** The rules of a write by stage, and the fields that the service sets, each with its condition. */
export const describeWritePlan = ({ rules, assignments }: WritePlan): string =>
  [
    ...rules.map(
      ({ stage, at, condition }) => `${[stage, at].filter(Boolean).join(' ')}: ${describeExpr(condition)}`,
    ),
    ...assignments.map(
      ({ field, when, value }) => `set ${field.name} = ${describeExpr(value)} if ${describeExpr(when)}`,
    ),
  ].join('\n')

export const describePlan = (plan: Plan, indent = ''): string =>
  lines(
    {
      entity: `${plan.entity.name} as ${plan.row}`,
      filter: plan.filter && describeFilter(plan.filter, indent),
      orderBy: describeOrderBy(plan.orderBy),
      select: list(plan.select.map(describeSelectItem)),
      expand: list(plan.expand.map(e => describeExpansion(e, indent))),
      top: plan.top?.toString(),
      count: plan.count ? 'true' : undefined,
    },
    indent,
  )
