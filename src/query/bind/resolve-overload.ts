import { FEATURES } from '../../errors/features.js'
import type { Phrase } from '../../errors/phrase.js'
import { HINTS } from '../../errors/phrases.js'
import { fail, type SourceLocation } from '../../errors/problem.js'
import type { Ast, LiteralType, Value } from '../ast.js'
import { toDurationSeconds } from '../duration.js'
import { type ExprType, FUNCTIONS, type FunctionName, type Signature, type ValueType } from '../functions.js'
import type { Expr } from '../plan.js'

/**
 * An argument before overload resolution. A literal (`null`, `5`) has no type yet: it gets that of the
 * parameter.
 */
export type CallArgument =
  | { readonly kind: 'literal'; readonly ast: Ast & { kind: 'literal' } }
  | { readonly kind: 'list'; readonly ast: Ast & { kind: 'list' }; readonly items: readonly CallArgument[] }
  | { readonly kind: 'bound'; readonly expr: Expr }

const NUMERIC_PROMOTIONS: { readonly [type in ValueType]?: readonly ValueType[] } = {
  Int32: ['Int64', 'Decimal', 'Double'],
  Int64: ['Decimal', 'Double'],
  Decimal: ['Double'],
}

/** Other types that a literal can have (OData 4.01 Part 2, 5.1.1.1.1 and 5.1.1.14.1). */
const LITERAL_CONVERSIONS: { readonly [type in LiteralType]?: readonly ValueType[] } = {
  Enum: ['String'],
  String: ['Duration'],
}

/** Finds the overload for the arguments and converts each literal to the type of its parameter. */
export function resolveOverload(fn: FunctionName, args: readonly CallArgument[], at: SourceLocation): Expr {
  const signatures: readonly Signature[] = FUNCTIONS[fn]
  const found = signatures.find(
    s =>
      matchesArity(fn, args.length, s.args.length) &&
      args.every((arg, i) => acceptsArgument(parameterType(s, i), arg)),
  )
  if (!found) return failNoOverload(fn, signatures, args, at)
  // A null collection makes the result null, so that no SQL function has to handle it.
  if (args.some((arg, i) => arg.kind === 'literal' && isCollectionType(parameterType(found, i))))
    return { kind: 'literal', value: null, type: found.returns }
  return {
    kind: 'call',
    fn,
    args: args.map((arg, i) => coerceArgument(arg, parameterType(found, i))),
    type: found.returns,
  }
}

/** `and` and `or` accept any number of arguments, `case` any number of pairs. */
function matchesArity(fn: FunctionName, argumentCount: number, parameterCount: number): boolean {
  if (fn === 'and' || fn === 'or') return argumentCount >= parameterCount
  return fn === 'case'
    ? argumentCount > 0 && argumentCount % parameterCount === 0
    : argumentCount === parameterCount
}

const parameterType = (signature: Signature, index: number): ExprType =>
  signature.args[index % signature.args.length] ?? 'Boolean'

function acceptsArgument(type: ExprType, arg: CallArgument): boolean {
  if (arg.kind === 'list') {
    const item = itemType(type)
    return item !== undefined && arg.items.every(i => acceptsArgument(item, i))
  }
  if (arg.kind === 'bound')
    return (
      arg.expr.type === type || (NUMERIC_PROMOTIONS[arg.expr.type as ValueType] ?? []).some(t => t === type)
    )
  return acceptsLiteral(arg.ast, type)
}

function acceptsLiteral({ type: own, value }: Ast & { kind: 'literal' }, type: ExprType): boolean {
  if (own === 'Null' || own === type) return true
  if (own === 'String' && type === 'Duration') return toDurationSeconds(String(value)) !== undefined
  return [...(NUMERIC_PROMOTIONS[own as ValueType] ?? []), ...(LITERAL_CONVERSIONS[own] ?? [])].some(
    t => t === type,
  )
}

export const isCollectionType = (type: ExprType | LiteralType) => type.startsWith('Collection')
const itemType = (type: ExprType): ValueType | undefined =>
  /^Collection\((\w+)\)$/.exec(type)?.[1] as ValueType | undefined // the name of a type, by construction of Type

/** Binds an argument to a parameter of type `type`. */
export function coerceArgument(arg: CallArgument, type: ExprType): Expr {
  if (arg.kind === 'bound') return arg.expr
  if (arg.kind === 'list') {
    const item = itemType(type) ?? 'String'
    return { kind: 'list', items: arg.items.map(i => coerceArgument(i, item)), type }
  }
  return { kind: 'literal', value: coerceLiteral(arg.ast, type), type: type as ValueType } // a literal is never a collection
}

function coerceLiteral({ type: own, value }: Ast & { kind: 'literal' }, type: ExprType): Value {
  if (value === null) return null
  if (own === 'String' && type === 'Duration') return toDurationSeconds(String(value)) ?? null
  // Numbers wider than Int32 are text, so that no digit is lost.
  return own === 'Int32' && type !== 'Int32' ? String(value) : value
}

/** Returns the type of an argument without a parameter. */
export function naturalType(arg: CallArgument): ExprType | LiteralType {
  if (arg.kind === 'bound') return arg.expr.type
  if (arg.kind === 'literal') return arg.ast.type
  const [first] = arg.items
  return first ? `Collection(${naturalType(first) as ValueType})` : 'Collection(String)' // used in messages only
}

function failNoOverload(
  fn: FunctionName,
  signatures: readonly Signature[],
  args: readonly CallArgument[],
  at: SourceLocation,
): never {
  const types = args.map(naturalType)
  if (
    COLLECTION_FUNCTIONS.has(fn) &&
    signatures.some(
      s =>
        matchesArity(fn, args.length, s.args.length) &&
        args.every((arg, i) => acceptsCollection(parameterType(s, i), arg)),
    )
  )
    return fail({ kind: 'NotImplemented', feature: FEATURES.ofCollections(fn), at })
  const hint = literalHint(fn, args, types)
  const expected = [...new Set(signatures.map(s => `(${s.args.join(', ')})`))]
  return fail({
    kind: 'NoOverload',
    name: fn,
    args: types,
    expected,
    ...(hint !== undefined && { hint }),
    at,
  })
}

/**
 * Functions that the standard also defines for collections, not only for strings (OData 4.01 Part 2,
 * 5.1.1.5).
 */
const COLLECTION_FUNCTIONS: ReadonlySet<FunctionName> = new Set([
  'concat',
  'contains',
  'endswith',
  'indexof',
  'startswith',
  'substring',
])
const acceptsCollection = (type: ExprType, arg: CallArgument) =>
  type === 'String' ? isCollectionType(naturalType(arg)) || isNullLiteral(arg) : acceptsArgument(type, arg)

export const isNullLiteral = (arg: CallArgument) => arg.kind === 'literal' && arg.ast.type === 'Null'

/** Returns a hint for the literal of a call whose other argument has another type. */
function literalHint(
  fn: FunctionName,
  args: readonly CallArgument[],
  types: readonly (ExprType | LiteralType)[],
): Phrase | undefined {
  for (const [wanted, written, toHint] of LITERAL_HINTS) {
    const index = args.findIndex((arg, i) => arg.kind === 'literal' && types[i] === written)
    const literal = args[index]
    if (literal?.kind !== 'literal' || !types.includes(wanted)) continue
    const field = toFieldName(args[1 - index])
    const write = (value: string, other: string) =>
      index === 0 ? `${value} ${fn} ${other}` : `${other} ${fn} ${value}`
    return toHint(String(literal.ast.value), COMPARISONS.has(fn) ? { field, write } : undefined)
  }
  return undefined
}

const COMPARISONS: ReadonlySet<FunctionName> = new Set(['eq', 'ne', 'gt', 'ge', 'lt', 'le'])

const toFieldName = (arg: CallArgument | undefined): string =>
  arg?.kind === 'bound' && arg.expr.kind === 'column' ? arg.expr.scalar.name : '…'

/** The other side of a comparison, and how the comparison is written with another literal. */
interface ComparedField {
  readonly field: string
  readonly write: (literal: string, field: string) => string
}
type LiteralHint = readonly [
  wanted: ValueType,
  written: LiteralType,
  toHint: (literal: string, compared: ComparedField | undefined) => Phrase,
]

const NUMBER_HINTS = (['Int32', 'Int64', 'Decimal', 'Double'] as const).flatMap(
  (type): readonly LiteralHint[] => [
    [type, 'String', () => HINTS.numberWithoutQuotes],
    ['String', type, HINTS.stringInQuotes],
  ],
)

function timestampHint(day: string, compared: ComparedField | undefined): Phrase {
  const timestamp = `${day}T00:00:00Z`
  if (!compared) return HINTS.timestamp(timestamp)
  const { field, write } = compared
  return HINTS.timestampOrDays(write(timestamp, field), write(day, `date(${field})`))
}

const LITERAL_HINTS: readonly LiteralHint[] = [
  ['DateTimeOffset', 'String', () => HINTS.timestampWithoutQuotes],
  ['Date', 'String', () => HINTS.dateWithoutQuotes],
  ['TimeOfDay', 'String', () => HINTS.timeWithoutQuotes],
  ['Boolean', 'String', () => HINTS.booleanWithoutQuotes],
  ['DateTimeOffset', 'Date', timestampHint],
  ['Date', 'DateTimeOffset', literal => HINTS.date(literal.slice(0, 10))],
  ...NUMBER_HINTS,
]
