import { type At, fail } from '../errors/problem.js'
import type { Entity } from '../model/model.js'
import type { Ast } from './ast.js'
import { CASTS, type Type, type ValueType } from './functions.js'
import { type Argument, naturalType, settle } from './overload.js'
import { checkPattern } from './pattern.js'
import { call, type Expr, FALSE, isNull, nullLiteral, TRUE, textLiteral } from './plan.js'

/** Operators whose arguments are not all values: a type, a lookup's value, a pattern. Each is one call of the language, with bound arguments. */
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
const isNullLiteral = (arg: Argument) => arg.kind === 'literal' && arg.ast.type === 'Null'
/** A literal keeps its own type. */
const settleAsIs = (arg: Argument): Expr => settle(arg, naturalType(arg) as Type) // literal types that are no value types fit no cast

function refuse(name: string, { at, args }: SpecialCall, ...expected: readonly string[]): never {
  return fail({ kind: 'NoOverload', name, args: args.map(a => (a.kind === 'type' ? a.ast.name : naturalType(a))), expected, at })
}

/** `cast(value, type)` (OData 4.01 Part 2, 5.1.1.10.1). */
function bindCast(special: SpecialCall): Expr {
  const [value, type] = special.args
  if (!value || value.kind === 'type' || !isType(type) || special.args.length !== 2) return refuse('cast', special, '(value, type)')
  const to = castTarget(type.ast.name, type.ast.at)
  if (isNullLiteral(value)) return nullLiteral(to)
  const arg = settleAsIs(value)
  const from = CASTS[to] ?? []
  if (!from.some(t => t === arg.type)) return refuse('cast', special, ...from.map(t => `(${t}, Edm.${to})`))
  return isNull(arg) ? { kind: 'literal', value: null, type: to } : { kind: 'cast', arg, type: to }
}

function castTarget(name: string, at: At): ValueType {
  const short = name.startsWith('Edm.') ? name.slice('Edm.'.length) : undefined
  if (short !== undefined && Object.hasOwn(CASTS, short)) return short as ValueType // a key of CASTS
  const known = Object.keys(CASTS).map(t => `Edm.${t}`)
  return fail({ kind: 'BadLiteral', type: 'primitive type', text: name, hint: `cast knows ${known.join(', ')}.`, at })
}

/** Fields have one type each, so the question is answered here, but for null, which is of no type (OData 4.01 Part 2, 5.1.1.10.2). */
function bindIsOf(special: SpecialCall): Expr {
  const [value, type] = special.args
  if (special.args.length === 1 && isType(value)) return value.ast.name.split('.').at(-1) === special.entity.typeName ? TRUE : FALSE
  if (!value || value.kind === 'type' || !isType(type) || special.args.length !== 2) return refuse('isof', special, '(value, type)', '(type)')
  if (isNullLiteral(value)) return FALSE
  const arg = settleAsIs(value)
  const fits = type.ast.name === `Edm.${arg.type}` || type.ast.name === 'Edm.PrimitiveType'
  return fits ? call('ne', arg, nullLiteral(arg.type as ValueType)) : FALSE // a collection is no Edm.X
}

/** `Field has 'Value'` on a lookup: equality, or membership of every value named (decisions 2). */
function bindHas(special: SpecialCall): Expr {
  const [left, right] = special.args
  const field = left?.kind === 'bound' ? left.expr : undefined
  const names = right?.kind === 'literal' && (right.ast.type === 'String' || right.ast.type === 'Enum') ? String(right.ast.value) : undefined
  if (field?.kind !== 'column' || !field.scalar.lookup || names === undefined || special.args.length !== 2)
    return refuse('has', special, '(a lookup field, a value of the lookup)')
  if (!field.scalar.collection) return call('eq', field, textLiteral(names))
  const [first = TRUE, ...others] = names.split(',').map(name => call('in', textLiteral(name.trim()), field))
  return others.length === 0 ? first : call('and', first, ...others)
}

export const SPECIAL: Readonly<Record<string, (special: SpecialCall) => Expr>> = { cast: bindCast, isof: bindIsOf, has: bindHas }

/** The pattern is one of ECMAScript; only a literal can be translated for the database. */
export function checkedPattern(bound: Expr, at: At): Expr {
  const pattern = bound.kind === 'call' ? bound.args[1] : undefined
  if (pattern?.kind !== 'literal') return fail({ kind: 'NotImplemented', feature: 'a pattern that is no literal', at })
  if (!isNull(pattern)) checkPattern(String(pattern.value), at)
  return bound
}
