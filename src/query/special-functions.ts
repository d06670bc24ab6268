import { FEATURES } from '../errors/features.js'
import { EXPECTED_TYPE, SIGNATURES } from '../errors/phrases.js'
import { fail, type SourceLocation } from '../errors/problem.js'
import type { Entity } from '../model/model.js'
import { isEntityTypeName, isTypeName } from '../model/type-names.js'
import type { Ast, LiteralType } from './ast.js'
import {
  type CallArgument,
  coerceArgument,
  isCollectionType,
  isNullLiteral,
  naturalType,
} from './bind/resolve-overload.js'
import { CASTS, type ExprType, type ValueType } from './functions.js'
import { checkPattern } from './pattern.js'
import { type Expr, FALSE, isNull, nullLiteral, predicate, TRUE, textLiteral } from './plan.js'

/**
 * A call of an operator with arguments that are not values: a type, a lookup value, a pattern. Other
 * arguments are bound.
 */
export interface SpecialCall {
  readonly at: SourceLocation
  readonly args: readonly (CallArgument | TypeArgument)[]
  /** The entity of the record that an expression without a path refers to. */
  readonly entity: Entity
}

/** A type name, as an argument of `cast` or `isof`. */
export interface TypeArgument {
  readonly kind: 'type'
  readonly ast: Ast & { kind: 'type' }
}

const isTypeArgument = (arg: CallArgument | TypeArgument | undefined): arg is TypeArgument =>
  arg?.kind === 'type'
/** Binds an argument with its own type, also if it is a literal. */
const coerceToOwnType = (arg: CallArgument): Expr => coerceArgument(arg, naturalType(arg) as ExprType) // literal types without a value type fit no cast

function failNoSignature(name: string, { at, args }: SpecialCall, ...expected: readonly string[]): never {
  return fail({
    kind: 'NoOverload',
    name,
    args: args.map(a => (a.kind === 'type' ? a.ast.name : naturalType(a))),
    expected,
    at,
  })
}

/** `cast(value, type)` (OData 4.01 Part 2, 5.1.1.10.1). */
function bindCast(special: SpecialCall): Expr {
  const [value] = special.args
  const type = special.args.at(-1)
  if (!isTypeArgument(type)) return failNoSignature('cast', special, SIGNATURES.valueAndType)
  const to = castTarget(type.ast, special.entity)
  if (!value || value.kind === 'type' || special.args.length !== 2)
    return failNoSignature('cast', special, SIGNATURES.valueAndType)
  if (isNullLiteral(value)) return nullLiteral(to)
  const own = naturalType(value)
  const from = CASTS[to] ?? []
  if (isCollectionType(own)) return failNoSignature('cast', special, ...from.map(t => `(${t}, Edm.${to})`))
  if (!from.some(t => t === own)) return castOtherType(value, own, to, special.at)
  const arg = coerceToOwnType(value)
  return isNull(arg) ? nullLiteral(to) : { kind: 'cast', arg, type: to }
}

/** Literal types whose text is a value of the target type, in addition to `CASTS`. */
const LITERAL_CASTS: { readonly [to in ValueType]?: readonly (ExprType | LiteralType)[] } = {
  String: ['Guid', 'Binary', 'Enum'],
  Duration: ['String'],
}

/** Casts between unrelated types. The result is null instead of an error. */
function castOtherType(
  value: CallArgument,
  from: ExprType | LiteralType,
  to: ValueType,
  at: SourceLocation,
): Expr {
  if (value.kind === 'literal' && LITERAL_CASTS[to]?.includes(from)) return coerceArgument(value, to)
  if (to === 'String' && from.startsWith('Geo'))
    return fail({ kind: 'NotImplemented', feature: FEATURES.castGeographyToString, at })
  return nullLiteral(to)
}

function castTarget(type: Ast & { kind: 'type' }, of: Entity): ValueType {
  const { name, at } = type
  const short = name.startsWith('Edm.') ? name.slice('Edm.'.length) : undefined
  if (short !== undefined && Object.hasOwn(CASTS, short)) return short as ValueType // a key of CASTS
  if (COLLECTION_TYPE.test(name))
    return fail({ kind: 'WrongType', expected: EXPECTED_TYPE.notCollection, found: name, at })
  checkTypeName(type, of)
  return fail({ kind: 'NotImplemented', feature: FEATURES.castTo(name), at })
}

const COLLECTION_TYPE = /^Collection\((.+)\)$/

/** Refuses the name of a type that the model of the entity does not have. */
export function checkTypeName({ name, at }: Ast & { kind: 'type' }, of: Entity): void {
  if (!isTypeName(COLLECTION_TYPE.exec(name)?.[1] ?? name, of))
    fail({ kind: 'WrongType', expected: EXPECTED_TYPE.type, found: name, at })
}

/**
 * Binds `isof`. Every field has one type, so the result is known here, except for null, which has no type
 * (OData 4.01 Part 2, 5.1.1.10.2).
 */
function bindIsOf(special: SpecialCall): Expr {
  const [value] = special.args
  const type = special.args.at(-1)
  if (!isTypeArgument(type)) return failNoSignature('isof', special, SIGNATURES.valueAndType, SIGNATURES.type)
  checkTypeName(type.ast, special.entity)
  const { name } = type.ast
  if (special.args.length === 1) return isEntityTypeName(name, special.entity.typeName) ? TRUE : FALSE
  if (!value || value.kind === 'type' || special.args.length !== 2)
    return failNoSignature('isof', special, SIGNATURES.valueAndType, SIGNATURES.type)
  if (isNullLiteral(value)) return FALSE
  const own = naturalType(value)
  if (name !== `Edm.${own}` && (name !== 'Edm.PrimitiveType' || isCollectionType(own))) return FALSE // a collection does not have a primitive type
  return value.kind === 'literal'
    ? TRUE
    : predicate('ne', coerceToOwnType(value), nullLiteral(own as ValueType)) // only literals have other types
}

/**
 * Binds `Field has 'Value'` on a lookup field: equality, or membership of every named value.
 */
function bindHas(special: SpecialCall): Expr {
  const [left, right] = special.args
  const field = left?.kind === 'bound' ? left.expr : undefined
  const names =
    right?.kind === 'literal' && (right.ast.type === 'String' || right.ast.type === 'Enum')
      ? String(right.ast.value)
      : undefined
  if (field?.kind !== 'column' || !field.scalar.lookup || names === undefined || special.args.length !== 2)
    return failNoSignature('has', special, SIGNATURES.lookupAndValue)
  if (!field.scalar.collection) return predicate('eq', field, textLiteral(names))
  const [first = TRUE, ...others] = names
    .split(',')
    .map(name => predicate('in', textLiteral(name.trim()), field))
  return others.length === 0 ? first : predicate('and', first, ...others)
}

export const SPECIAL_FUNCTIONS: Readonly<Record<string, (special: SpecialCall) => Expr>> = {
  cast: bindCast,
  isof: bindIsOf,
  has: bindHas,
}

/** Refuses a pattern that is not a literal: an ECMAScript pattern is translated when the query is bound. */
export function requireLiteralPattern(bound: Expr, at: SourceLocation): Expr {
  const pattern = bound.kind === 'call' ? bound.args[1] : undefined
  if (pattern?.kind !== 'literal')
    return fail({ kind: 'NotImplemented', feature: FEATURES.variablePattern, at })
  if (!isNull(pattern)) checkPattern(String(pattern.value), at)
  return bound
}
