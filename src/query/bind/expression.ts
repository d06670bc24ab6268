import { FEATURES } from '../../errors/features.js'
import { EXPECTED_TYPE, FOUND, HINTS, RESOURCES } from '../../errors/phrases.js'
import { fail, type SourceLocation } from '../../errors/problem.js'
import { suggestName } from '../../errors/suggest.js'
import { modelOf } from '../../model/model.js'
import { splitAtAntimeridian } from '../antimeridian.js'
import type { Ast } from '../ast.js'
import {
  type ExprType,
  FUNCTIONS,
  type FunctionName,
  isFunction,
  UNSUPPORTED_FUNCTIONS,
  type ValueType,
} from '../functions.js'
import { anyOf, type Collection, columnOf, type Expr, nullLiteral, predicate } from '../plan.js'
import { checkTypeName, requireLiteralPattern, SPECIAL_FUNCTIONS } from '../special-functions.js'
import { compareInMicroseconds } from '../sub-microsecond.js'
import { type CallArgument, coerceArgument, naturalType, resolveOverload } from './resolve-overload.js'
import { type PathTarget, resolvePath, Scope } from './scope.js'

/** Binds an expression that must be Boolean. */
export function bindCondition(ast: Ast, scope: Scope): Expr {
  const arg = bindArgument(ast, scope)
  const isNull = arg.kind === 'literal' && arg.ast.type === 'Null'
  if (!isNull && naturalType(arg) !== 'Boolean')
    return fail({
      kind: 'WrongType',
      expected: EXPECTED_TYPE.boolean,
      found: FOUND.valueOfType(naturalType(arg)),
      at: ast.at,
    })
  return coerceArgument(arg, 'Boolean')
}

/** Binds an expression of any type. */
export function bindValue(ast: Ast, scope: Scope): Expr {
  const arg = bindArgument(ast, scope)
  const type = naturalType(arg)
  if (type === 'Null') return coerceArgument(arg, 'String')
  return coerceArgument(arg, type as ExprType) // literal types without a value type fail later, since no overload accepts them
}

function bindArgument(ast: Ast, scope: Scope): CallArgument {
  switch (ast.kind) {
    case 'literal':
      return { kind: 'literal', ast }
    case 'list':
      return { kind: 'list', ast, items: ast.items.map(i => bindArgument(i, scope)) }
    case 'path':
      return { kind: 'bound', expr: bindPath(ast, scope) }
    case 'call':
      return { kind: 'bound', expr: bindCall(ast, scope) }
    case 'lambda':
      return { kind: 'bound', expr: bindLambda(ast, scope) }
    case 'count':
      return { kind: 'bound', expr: bindCount(ast, scope) }
    case 'type':
      return fail({
        kind: 'WrongType',
        expected: EXPECTED_TYPE.value,
        found: FOUND.typeName(ast.name),
        at: ast.at,
      })
    case 'root':
      return { kind: 'bound', expr: bindRoot(ast, scope) }
  }
}

function bindPath(ast: Ast & { kind: 'path' }, scope: Scope): Expr {
  return targetToExpr(scope.resolve(ast.names, ast.at), ast.names, ast.at)
}

function targetToExpr(target: PathTarget, names: readonly string[], at: SourceLocation): Expr {
  switch (target.kind) {
    case 'element':
      return target
    case 'computed':
      return target.value
    case 'scalar':
      if (target.scalar.readableBy === 'nobody')
        return fail({ kind: 'NotReadable', field: target.scalar.name, at })
      return columnOf(target.scalar, target.source)
    case 'record':
    case 'records':
      return fail({
        kind: 'WrongType',
        expected: EXPECTED_TYPE.value,
        found: FOUND.records(names.join('/')),
        at,
      })
  }
}

/**
 * Binds a field of a record that is addressed by key from the root (OData 4.01 Part 2, 5.1.1.14.5). Listings
 * are not visible to all readers, so `$root` does not reach them.
 */
function bindRoot({ entity: name, key, names, at }: Ast & { kind: 'root' }, scope: Scope): Expr {
  const of =
    modelOf(scope.entity).entities.get(name) ?? fail({ kind: 'NotFound', what: RESOURCES.resource(name) })
  if (!PUBLIC_ENTITIES.has(of.name))
    return fail({ kind: 'NotImplemented', feature: FEATURES.rootEntity(name), at })
  const bound = coerceArgument({ kind: 'bound', expr: bindValue(key, Scope.root(of)) }, of.key.type)
  if (bound.type !== of.key.type) return fail({ kind: 'BadKey', entity: of.name, found: String(bound.type) })
  return targetToExpr(resolvePath({ kind: 'key', entity: of, key: bound }, of, names, at), names, at)
}

/** Entities whose records are all visible to all readers. */
const PUBLIC_ENTITIES: ReadonlySet<string> = new Set(['Member', 'Office', 'Lookup'])

function bindCall(ast: Ast & { kind: 'call' }, scope: Scope): Expr {
  const special = Object.hasOwn(SPECIAL_FUNCTIONS, ast.fn) ? SPECIAL_FUNCTIONS[ast.fn] : undefined
  checkNoRecordCast(ast, scope)
  if (special)
    return special({
      at: ast.at,
      entity: scope.entity,
      args: ast.args.map(a => (a.kind === 'type' ? { kind: 'type', ast: a } : bindArgument(a, scope))),
    })
  if (!isFunction(ast.fn)) return failUnknownFunction(ast.fn, ast.at)
  if (ast.fn === 'in' && ast.args[0]?.kind === 'list')
    return fail({ kind: 'NotImplemented', feature: FEATURES.listBeforeIn, at: ast.args[0].at })
  if (ast.fn === 'eq' || ast.fn === 'ne') {
    const test = bindNullTest(ast.fn, ast.args, scope)
    if (test) return test
  }
  const bound = resolveOverload(
    ast.fn,
    ast.args.map(a => bindArgument(a, scope)),
    ast.at,
  )
  checkLiteralArguments(ast.fn, bound, ast)
  if (ast.fn === 'geo.intersects') return intersectAcrossAntimeridian(bound, ast.args[1]?.at ?? ast.at)
  if (ast.fn === 'matchespattern') return requireLiteralPattern(bound, ast.args[1]?.at ?? ast.at)
  return bound.kind === 'call' ? compareInMicroseconds(bound) : bound
}

/** Refuses `cast` and `isof` of a record: no record has another type than its entity's. */
function checkNoRecordCast({ fn, args: [value, type] }: Ast & { kind: 'call' }, scope: Scope): void {
  if (value?.kind !== 'path' || type?.kind !== 'type') return
  const target = scope.resolve(value.names, value.at)
  if (target.kind !== 'record') return
  checkTypeName(type, target.entity)
  fail({ kind: 'NotImplemented', feature: FEATURES.ofRecord(fn), at: value.at })
}

function failUnknownFunction(name: string, at: SourceLocation): never {
  if (UNSUPPORTED_FUNCTIONS.has(name))
    return fail({ kind: 'NotImplemented', feature: FEATURES.function(name), at })
  const suggestion = suggestName(name, [...Object.keys(FUNCTIONS), ...Object.keys(SPECIAL_FUNCTIONS)])
  return fail({ kind: 'UnknownFunction', name, ...(suggestion !== undefined && { suggestion }), at })
}

/**
 * Binds `X eq null` and `X ne null`, also for positions and single-valued navigations, which can be compared
 * only with null. A navigation is null if the key of its record is null (OData 4.01 Part 2, 5.1.1.1.1).
 */
function bindNullTest(fn: 'eq' | 'ne', args: readonly Ast[], scope: Scope): Expr | undefined {
  const isNull = (a: Ast | undefined) => a?.kind === 'literal' && a.type === 'Null'
  const path = args.find(a => a.kind === 'path')
  if (path?.kind !== 'path' || !args.some(isNull)) return undefined
  const target = scope.resolve(path.names, path.at)
  const value =
    target.kind === 'record'
      ? columnOf(target.entity.key, target.source)
      : targetToExpr(target, path.names, path.at)
  return value.type.startsWith('Collection')
    ? undefined
    : predicate(fn, value, nullLiteral(value.type as ValueType)) // not a collection
}

/** Replaces a polygon across the antimeridian by polygons on both sides of it. */
function intersectAcrossAntimeridian(bound: Expr, at: SourceLocation): Expr {
  const [point, polygon] = bound.kind === 'call' ? bound.args : []
  if (!point || polygon?.kind !== 'literal' || polygon.value === null) return bound
  const text = String(polygon.value)
  const parts =
    splitAtAntimeridian(text) ??
    fail({ kind: 'BadLiteral', type: 'Edm.GeographyPolygon', text, hint: HINTS.aroundPole, at })
  return anyOf(...parts.map(value => predicate('geo.intersects', point, { ...polygon, value })))
}

/** Refuses literal arguments that are invalid for every record. */
function checkLiteralArguments(fn: FunctionName, bound: Expr, ast: Ast & { kind: 'call' }): void {
  if (bound.kind !== 'call') return
  const last = bound.args.at(-1)
  const value = last?.kind === 'literal' && last.value !== null ? Number(last.value) : undefined
  if ((fn === 'div' || fn === 'divby' || fn === 'mod') && value === 0 && last?.type !== 'Double')
    fail({ kind: 'DivisionByZero', at: ast.args.at(-1)?.at ?? ast.at })
  if (fn === 'substring' && bound.args.length === 3 && value !== undefined && value < 0)
    fail({
      kind: 'BadLiteral',
      type: 'length',
      text: String(value),
      hint: HINTS.negativeLength,
      at: ast.args.at(-1)?.at ?? ast.at,
    })
}

/** Returns the collection that a lambda or a count iterates over. */
function bindCollection(names: readonly string[], at: SourceLocation, scope: Scope): Collection {
  const target = scope.resolve(names, at)
  if (target.kind === 'records') return target
  if (target.kind === 'scalar' && target.scalar.collection)
    return { kind: 'values', scalar: target.scalar, source: target.source }
  return fail({ kind: 'WrongType', expected: EXPECTED_TYPE.collection, found: names.join('/'), at })
}

function bindLambda(ast: Ast & { kind: 'lambda' }, scope: Scope): Expr {
  const over = bindCollection(ast.over, ast.at, scope)
  const body = ast.body && bindCondition(ast.body, scope.forLambda(ast.variable, over))
  return {
    kind: 'lambda',
    quantifier: ast.quantifier,
    over,
    row: scope.nextRow(),
    ...(body && { body }),
    type: 'Boolean',
  }
}

function bindCount(ast: Ast & { kind: 'count' }, scope: Scope): Expr {
  const over = bindCollection(ast.over, ast.at, scope)
  if (ast.search) return fail({ kind: 'NotImplemented', feature: FEATURES.searchInExpression, at: ast.at })
  if (ast.filter && over.kind === 'values')
    return fail({ kind: 'NotImplemented', feature: FEATURES.filterOfValues, at: ast.at })
  const filter =
    ast.filter && over.kind === 'records'
      ? bindCondition(ast.filter, scope.forCount(over.navigation))
      : undefined
  return { kind: 'count', over, row: scope.nextRow(), ...(filter && { filter }), type: 'Int64' }
}
