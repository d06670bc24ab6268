import { fail, type SourceLocation } from '../errors/problem.js'
import { type Entity, getEntity, type Navigation, type Scalar } from '../model/model.js'
import type { ValueType } from './functions.js'
import { type Collection, type ColumnSource, type Expr, type RowName, rowSource } from './plan.js'
import { suggestName } from './suggest.js'
import { hasTypeCastSegment } from './types.js'

/** What a name of a lambda or of the request stands for. */
type Binding =
  | { readonly kind: 'record'; readonly source: ColumnSource; readonly entity: Entity }
  | { readonly kind: 'element'; readonly row: RowName; readonly type: ValueType }
  | { readonly kind: 'computed'; readonly value: Expr }

/** What a path leads to. */
export type PathTarget =
  | { readonly kind: 'scalar'; readonly scalar: Scalar; readonly source: ColumnSource }
  | { readonly kind: 'element'; readonly row: RowName; readonly type: ValueType }
  | { readonly kind: 'record'; readonly source: ColumnSource; readonly entity: Entity }
  | { readonly kind: 'records'; readonly navigation: Navigation; readonly source: ColumnSource }
  | { readonly kind: 'computed'; readonly value: Expr }

/**
 * The names an expression may use: the fields of one record, `$it`, `$this`, and the variables of the lambdas
 * around it.
 */
export class Scope {
  private constructor(
    /** Unprefixed names are fields of this record. */
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
   * The scope of the options of an expansion: its own records, and `$it` of the request (OData 4.01 Part 2,
   * 5.1.1.14.4).
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

  /** The scope of a lambda's predicate. Its variable hides fields and outer variables of the same name. */
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

  /** This scope with one more name, for a value of `$compute`. */
  withComputed(name: string, value: Expr): Scope {
    return new Scope(
      this.entity,
      this.row,
      new Map([...this.bindings, [name, { kind: 'computed', value }]]),
      this.depth,
    )
  }

  /** The scope of a filter behind a counted collection: unprefixed names are fields of its records. */
  forCount(navigation: Navigation): Scope {
    return this.forExpansion(getEntity(navigation.target))
  }

  /** Name of the row that the next lambda or expansion in this scope brings. */
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

/** What a path leads to from a record. */
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
  if (rest.some(hasTypeCastSegment)) failTypeCastSegment(rest.join('/'), at)
  return rest.length === 0
    ? { kind: 'records', navigation: field, source }
    : fail({
        kind: 'WrongType',
        expected: 'any, all or $count behind a collection',
        found: rest.join('/'),
        at,
      })
}

export function failUnknownField(of: Entity, name: string, at: SourceLocation): never {
  if (hasTypeCastSegment(name)) failTypeCastSegment(name, at)
  const suggestion = suggestName(name, of.fields.keys())
  return fail({
    kind: 'UnknownField',
    entity: of.name,
    field: name,
    ...(suggestion !== undefined && { suggestion }),
    at,
  })
}

/** Every type of the model stands alone: there is none below it that a path could choose. */
const failTypeCastSegment = (path: string, at: SourceLocation): never =>
  fail({ kind: 'NotImplemented', feature: `types in paths (${path})`, at })
