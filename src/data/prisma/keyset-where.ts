import type { Scalar } from '../../model/model.js'
import type { KeysetPosition, OrderByTerm } from '../../query/plan.js'
import { allWhere, anyWhere, MATCH_NONE, type PrismaWhere } from './condition.js'
import { notExpressible } from './not-expressible.js'
import { columnOfTerm } from './order-by.js'

/**
 * Returns the `where` of the records after a position in an order: those beyond it in the first term, or
 * equal in the first and beyond it in the next, and so forth.
 */
export function toKeysetWhere(orderBy: readonly OrderByTerm[], position: KeysetPosition): PrismaWhere {
  const terms = orderBy.map(({ expr, descending }, i) => {
    const scalar = columnOfTerm(expr)
    const text = position[i] ?? null
    return { scalar, descending, value: text === null ? null : toKeysetValue(scalar, text) }
  })
  return anyWhere(
    ...terms.map((term, i) => {
      const equal = terms.slice(0, i).map(({ scalar, value }) => ({ [scalar.name]: value }))
      return allWhere(...equal, toBeyondWhere(term))
    }),
  )
}

interface KeysetTerm {
  readonly scalar: Scalar
  readonly descending: boolean
  readonly value: unknown
}

/** Null sorts below every value: in ascending order all values are beyond it, in descending order none. */
function toBeyondWhere({ scalar: { name, type, nullable }, descending, value }: KeysetTerm): PrismaWhere {
  if (value === null) return descending ? MATCH_NONE : { [name]: { not: null } }
  // Prisma has no `lt` and `gt` for Booleans. False is below true.
  if (type === 'Boolean') {
    const lower = anyWhere(value ? { [name]: false } : MATCH_NONE, nullable ? { [name]: null } : MATCH_NONE)
    return descending ? lower : value ? MATCH_NONE : { [name]: true }
  }
  if (!descending) return { [name]: { gt: value } }
  return nullable ? anyWhere({ [name]: { lt: value } }, { [name]: null }) : { [name]: { lt: value } }
}

/** Converts the text format of PostgreSQL to the value of an order term. */
function toKeysetValue({ type }: Scalar, text: string): unknown {
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
      return text === 'true' || text === 't'
    case 'GeographyPoint':
      return notExpressible('a position in an order of points')
    default:
      return text
  }
}
