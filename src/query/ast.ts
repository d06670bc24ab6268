import type { Phrase } from '../errors/phrase.js'
import type { SourceLocation } from '../errors/problem.js'
import type { AggregateMethod } from './functions.js'

/**
 * A parsed query of either adapter. Names are text, nothing has a type yet, and every node carries its
 * position. `bind` converts it to a `Plan`.
 */
export interface Query {
  /** Transformations in sequence. The other options apply to their result. */
  readonly apply?: readonly TransformationAst[]
  readonly filter?: Ast
  readonly search?: SearchAst
  readonly compute?: readonly ComputeAst[]
  readonly orderBy?: readonly OrderAst[]
  /** Undefined selects every field. */
  readonly select?: readonly SelectAst[]
  readonly expand?: readonly ExpandAst[]
  /** Control information to return besides the fields of each record. */
  readonly controlInformation?: readonly ControlInformation[]
  /** Names of a record's members in their order. By default fields come before related records. */
  readonly memberOrder?: readonly string[]
  readonly top?: number
  readonly skip?: number
  readonly count?: boolean
}

/** A named expression. */
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
 * One step of `$apply` (OData Data Aggregation 4.0, 3). `group` without `by` puts all records into one group.
 * `other` is a standard transformation that the service does not implement.
 */
export type TransformationAst =
  | { readonly kind: 'filter'; readonly filter: Ast }
  | { readonly kind: 'search'; readonly search: SearchAst }
  | { readonly kind: 'compute'; readonly items: readonly ComputeAst[] }
  | { readonly kind: 'orderby'; readonly terms: readonly OrderAst[] }
  | { readonly kind: 'top' | 'skip'; readonly count: number }
  | { readonly kind: 'identity' }
  | { readonly kind: 'group'; readonly by: readonly GroupAst[]; readonly aggregates: readonly AggregateAst[] }
  | { readonly kind: 'other'; readonly feature: Phrase; readonly at: SourceLocation }

/** A grouping property: a field, also at the end of single-valued navigations, or a computed value. */
export interface GroupAst {
  readonly names: readonly string[]
  readonly at: SourceLocation
}

/** An aggregate of each group. Without `of` it counts the records. */
export interface AggregateAst {
  readonly of?: { readonly expr: Ast; readonly method: AggregateMethod }
  readonly name: string
  readonly at: SourceLocation
}

/** A selected field, navigation, or `*`. `as` renames the member. */
export interface SelectAst {
  readonly name: string
  readonly as?: string
  readonly at: SourceLocation
}

/**
 * Control information of a record, which is not a field: its global id (base64url of `Type:key`), its type
 * name or its ETag. The member is named `as`.
 */
export interface ControlInformation {
  readonly kind: 'id' | 'type' | 'etag'
  readonly as: string
}

/**
 * An expanded navigation, or `*`. `as` renames the member. `form` selects whole records, references or the
 * number of records.
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
 * Types of literals. `Null` fits every type. An integer is Int32, Int64 or Decimal, depending on its size.
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
 * The value of a literal. Numbers other than Int32, dates and times are text, so that nothing is rounded.
 * Formats:
 * - date: `YYYY-MM-DD`
 * - time of day: `hh:mm:ss[.f]`, up to `24:00:00`, a leap second at the end of the day
 * - timestamp: UTC, `YYYY-MM-DDThh:mm:ss[.f]Z`
 * - duration: seconds as decimal text
 * - GUID: lower case; binary: base64url without padding
 * - point: `longitude latitude`
 * - polygon: closed rings, `lon lat,lon lat,...;lon lat,...`
 * - other shapes: well-known text
 * Times have no exponents and no fractions that end with zero.
 */
export type Value = string | number | boolean | null

/**
 * An expression. Paths are chains of names as written (`ListAgent/MemberFullName`, `$it/City`, `m/Order`),
 * which the binder resolves. Operators are calls (`eq`, `and`, `add`, `not`, `in`, `has`, `negate`). Names of
 * operators and functions are lower case. A chain of `and`, or of `or`, is one call with two or more
 * arguments. `case` has conditions and values as alternating arguments. `cast` and `isof` have the type as
 * their last argument.
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
  /** `over/$count` with its options. `over/$filter(f)/$count` is the same as `over/$count($filter=f)`. */
  | {
      readonly kind: 'count'
      readonly over: readonly string[]
      readonly filter?: Ast
      readonly search?: SearchAst
      readonly at: SourceLocation
    }
  /** A type name, the last argument of `cast` and `isof`. */
  | { readonly kind: 'type'; readonly name: string; readonly at: SourceLocation }
  /** `$root/Member('M1')/MemberKey`. */
  | {
      readonly kind: 'root'
      readonly entity: string
      readonly key: Ast
      readonly names: readonly string[]
      readonly at: SourceLocation
    }
