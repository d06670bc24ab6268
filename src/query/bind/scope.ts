import { FEATURES } from '../../errors/features.js'
import { EXPECTED_TYPE } from '../../errors/phrases.js'
import { fail, type SourceLocation } from '../../errors/problem.js'
import { suggestName } from '../../errors/suggest.js'
import { type Entity, getEntity, type Navigation, type Scalar } from '../../model/model.js'
import { hasTypeCastSegment } from '../../model/type-names.js'
import type { ValueType } from '../functions.js'
import { type Collection, type ColumnSource, type Expr, type RowName, rowSource } from '../plan.js'

/** The meaning of a name in a scope. */
type Binding =
  | { readonly kind: 'record'; readonly source: ColumnSource; readonly entity: Entity }
  | { readonly kind: 'element'; readonly row: RowName; readonly type: ValueType }
  | { readonly kind: 'computed'; readonly value: Expr }

/** The end of a path. */
export type PathTarget =
  | { readonly kind: 'scalar'; readonly scalar: Scalar; readonly source: ColumnSource }
  | { readonly kind: 'element'; readonly row: RowName; readonly type: ValueType }
  | { readonly kind: 'record'; readonly source: ColumnSource; readonly entity: Entity }
  | { readonly kind: 'records'; readonly navigation: Navigation; readonly source: ColumnSource }
  | { readonly kind: 'computed'; readonly value: Expr }

/**
 * The names that an expression can use: the fields of one record, `$it`, `$this`, and the variables of the
 * surrounding lambdas.
 */
export class Scope {
  private constructor(
    /** The record whose fields are used without a prefix. */
    readonly entity: Entity,
    readonly row: RowName,
    private readonly bindings: ReadonlyMap<string, Binding>,
    private readonly depth: number,
  ) {}

  static root(of: Entity): Scope {
    const record: Binding = { kind: 'record', source: rowSource('r0'), entity: of }
    return new Scope(
      of,
      'r0',
      new Map([
        ['$it', record],
        ['$this', record],
      ]),
      0,
    )
  }

  /**
   * Returns the scope of an expansion's options: the fields of its records, and `$it` of the request (OData
   * 4.01 Part 2, 5.1.1.14.4).
   */
  forExpansion(of: Entity): Scope {
    const row = this.nextRow()
    const known = [...this.bindings].filter(([, b]) => b.kind !== 'computed')
    return new Scope(
      of,
      row,
      new Map([...known, ['$this', { kind: 'record', source: rowSource(row), entity: of }]]),
      this.depth + 1,
    )
  }

  /**
   * Returns the scope of a lambda's predicate. Its variable hides fields and outer variables of the same
   * name.
   */
  forLambda(variable: string | undefined, over: Collection): Scope {
    const row = this.nextRow()
    const binding: Binding =
      over.kind === 'values'
        ? { kind: 'element', row, type: over.scalar.type }
        : { kind: 'record', source: rowSource(row), entity: getEntity(over.navigation.target) }
    return new Scope(
      this.entity,
      this.row,
      variable === undefined ? this.bindings : new Map([...this.bindings, [variable, binding]]),
      this.depth + 1,
    )
  }

  /** Returns this scope with the name of a computed value. */
  withComputed(name: string, value: Expr): Scope {
    return new Scope(
      this.entity,
      this.row,
      new Map([...this.bindings, [name, { kind: 'computed', value }]]),
      this.depth,
    )
  }

  /**
   * Returns the scope of a filter on a counted collection. Names without a prefix are fields of its records.
   */
  forCount(navigation: Navigation): Scope {
    return this.forExpansion(getEntity(navigation.target))
  }

  /** Returns the row name of the next lambda or expansion in this scope. */
  nextRow(): RowName {
    return `r${this.depth + 1}`
  }

  resolve(names: readonly string[], at: SourceLocation): PathTarget {
    const [first = '', ...rest] = names
    // A group by `A/B` has this name, and no record A.
    const whole = this.bindings.get(names.join('/'))
    if (whole?.kind === 'computed') return whole
    const bound = this.bindings.get(first)
    if (bound && bound.kind !== 'record')
      return rest.length === 0
        ? bound
        : fail({ kind: 'UnknownField', entity: first, field: rest.join('/'), at })
    if (bound) return resolvePath(bound.source, bound.entity, rest, at)
    return resolvePath(rowSource(this.row), this.entity, names, at)
  }
}

/** Resolves a path that begins at a record. */
export function resolvePath(
  source: ColumnSource,
  of: Entity,
  [name, ...rest]: readonly string[],
  at: SourceLocation,
): PathTarget {
  if (name === undefined) return { kind: 'record', source, entity: of }
  const field = of.fields.get(name) ?? failUnknownField(of, name, at)
  if (field.kind === 'scalar')
    return rest.length === 0
      ? { kind: 'scalar', scalar: field, source }
      : fail({ kind: 'UnknownField', entity: name, field: rest.join('/'), at })
  if (!field.collection)
    return resolvePath({ kind: 'via', navigation: field, from: source }, getEntity(field.target), rest, at)
  if (rest.some(name => hasTypeCastSegment(name, of))) failTypeCastSegment(rest.join('/'), at)
  return rest.length === 0
    ? { kind: 'records', navigation: field, source }
    : fail({
        kind: 'WrongType',
        expected: EXPECTED_TYPE.afterCollection,
        found: rest.join('/'),
        at,
      })
}

export function failUnknownField(of: Entity, name: string, at: SourceLocation): never {
  if (hasTypeCastSegment(name, of)) failTypeCastSegment(name, at)
  const suggestion = suggestName(name, of.fields.keys())
  return fail({
    kind: 'UnknownField',
    entity: of.name,
    field: name,
    ...(suggestion !== undefined && { suggestion }),
    at,
  })
}

/** Refuses a type cast segment. No type of the model has derived types. */
const failTypeCastSegment = (path: string, at: SourceLocation): never =>
  fail({ kind: 'NotImplemented', feature: FEATURES.typeCast(path), at })
