import { type At, fail } from '../errors/problem.js'
import type { Entity } from '../model/model.js'
import type { Ast, LiteralType } from './ast.js'
import { CASTS, type Type, type ValueType } from './functions.js'
import { checkPattern } from './pattern.js'
import { call, type Expr, FALSE, isNull, nullLiteral, TRUE, textLiteral } from './plan.js'
import { type Argument, isCollection, isNullLiteral, naturalType, settle } from './resolve-overload.js'
import { isTypeName, isTypeOf } from './types.js'

/**
 * Operators whose arguments are not all values: a type, a lookup's value, a pattern. Each is one call of the
 * language, with bound arguments.
 */
export interface SpecialCall {
  readonly at: At
  readonly args: readonly (Argument | TypeName)[]
  /** The entity whose record an expression without a path speaks of. */
  readonly entity: Entity
}

/** A type by its name, as `cast` and `isof` take it. */
export interface TypeName {
  readonly kind: 'type'
  readonly ast: Ast & { kind: 'type' }
}

const isType = (arg: Argument | TypeName | undefined): arg is TypeName => arg?.kind === 'type'
/** A literal keeps its own type. */
const settleAsIs = (arg: Argument): Expr => settle(arg, naturalType(arg) as Type) // literal types that are no value types fit no cast

function refuse(name: string, { at, args }: SpecialCall, ...expected: readonly string[]): never {
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
  if (!isType(type)) return refuse('cast', special, '(value, type)')
  const to = castTarget(type.ast)
  if (!value || value.kind === 'type' || special.args.length !== 2)
    return refuse('cast', special, '(value, type)')
  if (isNullLiteral(value)) return nullLiteral(to)
  const own = naturalType(value)
  const from = CASTS[to] ?? []
  if (isCollection(own)) return refuse('cast', special, ...from.map(t => `(${t}, Edm.${to})`))
  if (!from.some(t => t === own)) return castOfOther(value, own, to, special.at)
  const arg = settleAsIs(value)
  return isNull(arg) ? nullLiteral(to) : { kind: 'cast', arg, type: to }
}

/** Literals whose text is the value of another type, beside those that CASTS knows. */
const SPELLED: { readonly [to in ValueType]?: readonly (Type | LiteralType)[] } = {
  String: ['Guid', 'Binary', 'Enum'],
  Duration: ['String'],
}

/** What cannot become a value of the type is null, and no fault. */
function castOfOther(value: Argument, from: Type | LiteralType, to: ValueType, at: At): Expr {
  if (value.kind === 'literal' && SPELLED[to]?.includes(from)) return settle(value, to)
  if (to === 'String' && from.startsWith('Geo'))
    return fail({ kind: 'NotImplemented', feature: 'positions and shapes as text', at })
  return nullLiteral(to)
}

function castTarget(type: Ast & { kind: 'type' }): ValueType {
  const { name, at } = type
  const short = name.startsWith('Edm.') ? name.slice('Edm.'.length) : undefined
  if (short !== undefined && Object.hasOwn(CASTS, short)) return short as ValueType // a key of CASTS
  if (ITEM_OF.test(name))
    return fail({ kind: 'WrongType', expected: 'a type that is no collection', found: name, at })
  checkType(type)
  return fail({ kind: 'NotImplemented', feature: `casts to ${name}`, at })
}

const ITEM_OF = /^Collection\((.+)\)$/

/** Refuses a name that no type has. */
export function checkType({ name, at }: Ast & { kind: 'type' }): void {
  if (!isTypeName(ITEM_OF.exec(name)?.[1] ?? name))
    fail({ kind: 'WrongType', expected: 'a type like Edm.String', found: name, at })
}

/**
 * Fields have one type each, so the question is answered here, but for null, which is of no type (OData 4.01
 * Part 2, 5.1.1.10.2).
 */
function bindIsOf(special: SpecialCall): Expr {
  const [value] = special.args
  const type = special.args.at(-1)
  if (!isType(type)) return refuse('isof', special, '(value, type)', '(type)')
  checkType(type.ast)
  const { name } = type.ast
  if (special.args.length === 1) return isTypeOf(name, special.entity.typeName) ? TRUE : FALSE
  if (!value || value.kind === 'type' || special.args.length !== 2)
    return refuse('isof', special, '(value, type)', '(type)')
  if (isNullLiteral(value)) return FALSE
  const own = naturalType(value)
  if (name !== `Edm.${own}` && (name !== 'Edm.PrimitiveType' || isCollection(own))) return FALSE // a collection is no Edm.X
  return value.kind === 'literal' ? TRUE : call('ne', settleAsIs(value), nullLiteral(own as ValueType)) // only literals have other types
}

/** `Field has 'Value'` on a lookup: equality, or membership of every value named (decisions 2). */
function bindHas(special: SpecialCall): Expr {
  const [left, right] = special.args
  const field = left?.kind === 'bound' ? left.expr : undefined
  const names =
    right?.kind === 'literal' && (right.ast.type === 'String' || right.ast.type === 'Enum')
      ? String(right.ast.value)
      : undefined
  if (field?.kind !== 'column' || !field.scalar.lookup || names === undefined || special.args.length !== 2)
    return refuse('has', special, '(a lookup field, a value of the lookup)')
  if (!field.scalar.collection) return call('eq', field, textLiteral(names))
  const [first = TRUE, ...others] = names.split(',').map(name => call('in', textLiteral(name.trim()), field))
  return others.length === 0 ? first : call('and', first, ...others)
}

export const SPECIAL: Readonly<Record<string, (special: SpecialCall) => Expr>> = {
  cast: bindCast,
  isof: bindIsOf,
  has: bindHas,
}

/** The pattern is one of ECMAScript; only a literal can be translated for the database. */
export function checkedPattern(bound: Expr, at: At): Expr {
  const pattern = bound.kind === 'call' ? bound.args[1] : undefined
  if (pattern?.kind !== 'literal')
    return fail({ kind: 'NotImplemented', feature: 'a pattern that is no literal', at })
  if (!isNull(pattern)) checkPattern(String(pattern.value), at)
  return bound
}
