import type { Expr } from '../../query/plan.js'

/** The part of a plan that Prisma has no argument for. The read engine counts reads by `reason`. */
export class NotExpressibleError extends Error {
  constructor(readonly reason: string) {
    super(`Prisma has no argument for ${reason}`)
  }
}

/** @throws NotExpressibleError */
export function notExpressible(reason: string): never {
  throw new NotExpressibleError(reason)
}

/** Describes the first part of an expression that Prisma has no argument for. */
export function reasonOf(expr: Expr): string {
  switch (expr.kind) {
    case 'call':
      return `the function ${expr.fn}`
    case 'inFeed':
      return 'a feed'
    case 'search':
      return '$search'
    case 'count':
      return '$count in an expression'
    case 'cast':
      return 'the function cast'
    case 'element':
      return 'a value of a collection'
    case 'column':
      return expr.source.kind === 'row' ? 'a collection as a value' : 'a field of a related record'
    case 'result':
      return '$apply'
    case 'nullUnless':
      return 'a field that some records hide'
    default:
      return 'another value than a field and a literal'
  }
}
