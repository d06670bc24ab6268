import { type At, fail } from '../errors/problem.js'
import type { Ast, LiteralType, Value } from './ast.js'
import { toDurationSeconds } from './duration.js'
import { FUNCTIONS, type FunctionName, type Signature, type Type, type ValueType } from './functions.js'
import type { Expr } from './plan.js'

/**
 * An argument before its overload is known: a literal has no type yet, since its place decides (`null`, `5`
 * for a Decimal).
 */
export type Argument =
  | { readonly kind: 'literal'; readonly ast: Ast & { kind: 'literal' } }
  | { readonly kind: 'list'; readonly ast: Ast & { kind: 'list' }; readonly items: readonly Argument[] }
  | { readonly kind: 'bound'; readonly expr: Expr }

const WIDER: { readonly [type in ValueType]?: readonly ValueType[] } = {
  Int32: ['Int64', 'Decimal', 'Double'],
  Int64: ['Decimal', 'Double'],
  Decimal: ['Double'],
}

/** Literals of these types may stand for another type too (OData 4.01 Part 2, 5.1.1.1.1 and 5.1.1.14.1). */
const LITERAL_AS: { readonly [type in LiteralType]?: readonly ValueType[] } = {
  Enum: ['String'],
  String: ['Duration'],
}

/** Finds the overload for the arguments and gives each literal the type that its place asks for. */
export function chooseOverload(fn: FunctionName, args: readonly Argument[], at: At): Expr {
  const signatures: readonly Signature[] = FUNCTIONS[fn]
  const found = signatures.find(
    s => takes(fn, args.length, s.args.length) && args.every((arg, i) => accepts(parameter(s, i), arg)),
  )
  if (!found) return noOverload(fn, signatures, args, at)
  // A collection that is null makes the whole null: no rendering needs to know of it.
  if (args.some((arg, i) => arg.kind === 'literal' && isCollection(parameter(found, i))))
    return { kind: 'literal', value: null, type: found.returns }
  return {
    kind: 'call',
    fn,
    args: args.map((arg, i) => settle(arg, parameter(found, i))),
    type: found.returns,
  }
}

/** `and` and `or` take any number of arguments, `case` any number of pairs. */
function takes(fn: FunctionName, given: number, declared: number): boolean {
  if (fn === 'and' || fn === 'or') return given >= declared
  return fn === 'case' ? given > 0 && given % declared === 0 : given === declared
}

const parameter = (signature: Signature, index: number): Type =>
  signature.args[index % signature.args.length] ?? 'Boolean'

function accepts(type: Type, arg: Argument): boolean {
  if (arg.kind === 'list') {
    const item = itemType(type)
    return item !== undefined && arg.items.every(i => accepts(item, i))
  }
  if (arg.kind === 'bound')
    return arg.expr.type === type || (WIDER[arg.expr.type as ValueType] ?? []).some(t => t === type)
  return literalFits(arg.ast, type)
}

function literalFits({ type: own, value }: Ast & { kind: 'literal' }, type: Type): boolean {
  if (own === 'Null' || own === type) return true
  if (own === 'String' && type === 'Duration') return toDurationSeconds(String(value)) !== undefined
  return [...(WIDER[own as ValueType] ?? []), ...(LITERAL_AS[own] ?? [])].some(t => t === type)
}

export const isCollection = (type: Type | LiteralType) => type.startsWith('Collection')
const itemType = (type: Type): ValueType | undefined =>
  /^Collection\((\w+)\)$/.exec(type)?.[1] as ValueType | undefined // the name of a type, by construction of Type

/** The bound form of an argument whose place wants `type`. */
export function settle(arg: Argument, type: Type): Expr {
  if (arg.kind === 'bound') return arg.expr
  if (arg.kind === 'list') {
    const item = itemType(type) ?? 'String'
    return { kind: 'list', items: arg.items.map(i => settle(i, item)), type }
  }
  return { kind: 'literal', value: toValue(arg.ast, type), type: type as ValueType } // a literal is never a collection
}

function toValue({ type: own, value }: Ast & { kind: 'literal' }, type: Type): Value {
  if (value === null) return null
  if (own === 'String' && type === 'Duration') return toDurationSeconds(String(value)) ?? null
  // Everything wider than Int32 is text, so that no digit is lost.
  return own === 'Int32' && type !== 'Int32' ? String(value) : value
}

/** The type an argument has when no place asks for another one. */
export function naturalType(arg: Argument): Type | LiteralType {
  if (arg.kind === 'bound') return arg.expr.type
  if (arg.kind === 'literal') return arg.ast.type
  const [first] = arg.items
  return first ? `Collection(${naturalType(first) as ValueType})` : 'Collection(String)' // shown in messages only
}

function noOverload(
  fn: FunctionName,
  signatures: readonly Signature[],
  args: readonly Argument[],
  at: At,
): never {
  const types = args.map(naturalType)
  if (
    OF_COLLECTIONS.has(fn) &&
    signatures.some(
      s =>
        takes(fn, args.length, s.args.length) &&
        args.every((arg, i) => fitsCollections(parameter(s, i), arg)),
    )
  )
    return fail({ kind: 'NotImplemented', feature: `${fn} of collections`, at })
  const hint = QUOTED_TIME.find(([quoted]) => types.includes('String') && types.includes(quoted))?.[1]
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

/** The standard has these for collections too, where they are for texts (OData 4.01 Part 2, 5.1.1.5). */
const OF_COLLECTIONS: ReadonlySet<FunctionName> = new Set([
  'concat',
  'contains',
  'endswith',
  'indexof',
  'startswith',
  'substring',
])
const fitsCollections = (type: Type, arg: Argument) =>
  type === 'String' ? isCollection(naturalType(arg)) || isNullLiteral(arg) : accepts(type, arg)

export const isNullLiteral = (arg: Argument) => arg.kind === 'literal' && arg.ast.type === 'Null'

const QUOTED_TIME: readonly (readonly [ValueType, string])[] = [
  ['DateTimeOffset', 'Write a timestamp without quotes: 2024-05-01T00:00:00Z.'],
  ['Date', 'Write a date without quotes: 2024-05-01.'],
  ['TimeOfDay', 'Write a time without quotes: 08:30:00.'],
]
