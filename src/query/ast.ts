import type { SourceLocation } from '../errors/problem.js'
import type { AggregateMethod } from './functions.js'

/**
 * A query as a client wrote it, from either door: names are still text, nothing has a type yet, and every
 * node knows where it stands. `bind` turns it into a `Plan`.
 */
export interface Query {
  /** Transformations, in sequence: the other options work on their result. */
  readonly apply?: readonly TransformationAst[]
  readonly filter?: Ast
  readonly search?: SearchAst
  readonly compute?: readonly ComputeAst[]
  readonly orderBy?: readonly OrderAst[]
  /** Absent: every field. */
  readonly select?: readonly SelectAst[]
  readonly expand?: readonly ExpandAst[]
  /** What is told of each record beside its fields. */
  readonly metaFields?: readonly MetaField[]
  /** Names of the members of a record in their order; absent: fields, then related records. */
  readonly memberOrder?: readonly string[]
  readonly top?: number
  readonly skip?: number
  readonly count?: boolean
  /** Opaque token of the page that comes next. */
  readonly skipToken?: string
}

/** A value with a name of its own. */
export interface ComputeAst {
  readonly expr: Ast
  readonly name: string
  readonly at: SourceLocation
}

export interface OrderAst {
  readonly expr: Ast
  readonly descending: boolean
}

/**
 * One step of `$apply` (OData Data Aggregation 4.0, 3). `group` without `by` makes one record of all; `other`
 * is well known and not built.
 */
export type TransformationAst =
  | { readonly kind: 'filter'; readonly filter: Ast }
  | { readonly kind: 'search'; readonly search: SearchAst }
  | { readonly kind: 'compute'; readonly items: readonly ComputeAst[] }
  | { readonly kind: 'orderby'; readonly terms: readonly OrderAst[] }
  | { readonly kind: 'top' | 'skip'; readonly count: number }
  | { readonly kind: 'identity' }
  | { readonly kind: 'group'; readonly by: readonly GroupAst[]; readonly aggregates: readonly AggregateAst[] }
  | { readonly kind: 'other'; readonly feature: string; readonly at: SourceLocation }

/** What records are grouped by: a field, also one behind single-valued navigations, or a computed value. */
export interface GroupAst {
  readonly names: readonly string[]
  readonly at: SourceLocation
}

/** A value of all records of a group. Without an expression: how many there are. */
export interface AggregateAst {
  readonly of?: { readonly expr: Ast; readonly method: AggregateMethod }
  readonly name: string
  readonly at: SourceLocation
}

/** `name` is a field or a navigation, or `*`. `as`: the name of the member, if it is another. */
export interface SelectAst {
  readonly name: string
  readonly as?: string
  readonly at: SourceLocation
}

/**
 * A fact about a record that is none of its fields, as the member `as`: its global id (base64url of
 * `Type:key`), the name of its type, its ETag.
 */
export interface MetaField {
  readonly meta: 'id' | 'type' | 'etag'
  readonly as: string
}

/**
 * `name` is a navigation, or `*`. `as`: the name of the member, if it is another. `form`: whole records,
 * references to them, or how many there are.
 */
export interface ExpandAst {
  readonly name: string
  readonly as?: string
  readonly form: 'records' | 'references' | 'count'
  readonly query: Query
  readonly at: SourceLocation
}

export type SearchAst =
  | { readonly kind: 'phrase'; readonly text: string; readonly at: SourceLocation }
  | { readonly kind: 'and' | 'or'; readonly left: SearchAst; readonly right: SearchAst }
  | { readonly kind: 'not'; readonly operand: SearchAst }

/**
 * What a literal of a URL can be. `Null` fits every type; `Integer` is read as Int32, Int64 or Decimal by its
 * size.
 */
export type LiteralType =
  | 'Null'
  | 'Boolean'
  | 'Int32'
  | 'Int64'
  | 'Decimal'
  | 'Double'
  | 'String'
  | 'DateTimeOffset'
  | 'Date'
  | 'TimeOfDay'
  | 'Duration'
  | 'Guid'
  | 'Binary'
  | 'Enum'
  | 'GeographyPoint'
  | 'GeographyPolygon'
  | 'GeometryPoint'
  | 'GeometryPolygon'
  | 'GeographyOther'
  | 'GeometryOther'

/**
 * A literal's value. Numbers other than Int32 and all dates and times stay text, so that nothing is rounded.
 * Dates `YYYY-MM-DD`; times `hh:mm:ss[.f]` (up to `24:00:00`, a leap second at the end of the day);
 * timestamps in UTC, `YYYY-MM-DDThh:mm:ss[.f]Z`; durations in seconds, as decimal text. No exponents, no
 * fractions that end with zero in times. Guids are lower case, binaries base64url without padding. A point is
 * `longitude latitude`; a polygon its rings, `lon lat,lon lat,...;lon lat,...`, each closed; other shapes
 * their well-known text.
 */
export type Value = string | number | boolean | null

/**
 * A path is a chain of names as written (`ListAgent/MemberFullName`, `$it/City`, `m/Order`): the binder knows
 * what they are. Operators are calls (`eq`, `and`, `add`, `not`, `in`, `has`, `negate`); all names of
 * operators and functions are lower case. A chain of `and`, or of `or`, is one call with two arguments or
 * more. `case` has its conditions and values in turn. Types of `cast` and `isof` are their last argument.
 */
export type Ast =
  | {
      readonly kind: 'literal'
      readonly value: Value
      readonly type: LiteralType
      readonly at: SourceLocation
    }
  | { readonly kind: 'list'; readonly items: readonly Ast[]; readonly at: SourceLocation }
  | { readonly kind: 'path'; readonly names: readonly string[]; readonly at: SourceLocation }
  | { readonly kind: 'call'; readonly fn: string; readonly args: readonly Ast[]; readonly at: SourceLocation }
  | {
      readonly kind: 'lambda'
      readonly quantifier: 'any' | 'all'
      readonly over: readonly string[]
      readonly variable?: string
      readonly body?: Ast
      readonly at: SourceLocation
    }
  /**
   * `over/$count`, with the options a client may put behind it; `over/$filter(f)/$count` is the same as
   * `over/$count($filter=f)`.
   */
  | {
      readonly kind: 'count'
      readonly over: readonly string[]
      readonly filter?: Ast
      readonly search?: SearchAst
      readonly at: SourceLocation
    }
  /** A type by its name, as the last argument of `cast` and `isof`. */
  | { readonly kind: 'type'; readonly name: string; readonly at: SourceLocation }
  /** `$root/Member('M1')/MemberKey`. */
  | {
      readonly kind: 'root'
      readonly entity: string
      readonly key: Ast
      readonly names: readonly string[]
      readonly at: SourceLocation
    }
