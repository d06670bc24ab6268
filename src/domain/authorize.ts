import { ALL_ENTITIES, type Entity, getScalar, type Navigation, type Scalar } from '../model/model.js'
import { memoize } from '../query/memoize.js'
import {
  allOf,
  type Collection,
  type ColumnSource,
  type DerivedTable,
  type Expansion,
  type Expr,
  FALSE,
  isFalse,
  isTrue,
  type OrderByTerm,
  type Plan,
  type RowSource,
  rowSource,
  type SelectItem,
  TRUE,
} from '../query/plan.js'
import { type Actor, readerOf } from './actor.js'
import { SEARCHED_FIELDS } from './feeds/feed.js'
import {
  type DisclosurePolicy,
  isEntityHidden,
  isFieldReadable,
  isRecordVisible,
  staysWithinListing,
} from './visibility.js'

/**
 * Adds the actor's permissions to every part of a plan, for both adapters:
 * - Records that the actor cannot see are filtered out.
 * - If the filter uses a restricted field anywhere, records whose field the actor cannot read are filtered out.
 * - An order sees null in place of a restricted value.
 * - A selected field carries the condition under which it can be read.
 */
export function authorize(plan: Plan, actor: Actor, policy: DisclosurePolicy): Plan {
  return authorizerOf(readerOf(actor), policy).authorize(plan)
}

const authorizerOf = memoize(function authorizerOf(actor: Actor, policy: DisclosurePolicy) {
  return new PlanAuthorizer(actor, policy)
})

class PlanAuthorizer {
  constructor(
    private readonly actor: Actor,
    private readonly policy: DisclosurePolicy,
  ) {}

  authorize(plan: Plan): Plan {
    return this.authorizePlan(plan, plan.from ? TRUE : this.isVisible(plan.entity, rowSource(plan.row)))
  }

  private authorizePlan(plan: Plan, visible: Expr): Plan {
    const filter = allOf(visible, plan.filter && this.withReadConditions(plan.filter))
    const { filter: _, ...rest } = plan
    return {
      ...rest,
      ...(plan.from && { from: this.authorizeDerived(plan.from) }),
      ...(!isTrue(filter) && { filter }),
      orderBy: this.authorizeOrderBy(plan.orderBy),
      select: this.authorizeSelect(plan.select, rowSource(plan.row)),
      expand: this.authorizeExpand(plan.expand, rowSource(plan.row)),
    }
  }

  /**
   * Filters out records with an unreadable field that a transformation uses, as a filter does: a group or a
   * sum would disclose the value.
   */
  private authorizeDerived(derived: DerivedTable): DerivedTable {
    const { entity, from, row, filter } = derived
    const visible = from ? TRUE : this.isVisible(entity, rowSource(row))
    const readConditions = [...(filter ? [filter] : []), ...transformExpressions(derived.transform)].flatMap(
      e => this.readConditions(e),
    )
    return {
      ...derived,
      ...(from && { from: this.authorizeDerived(from) }),
      filter: allOf(visible, ...readConditions, filter),
    }
  }

  private readonly isVisible = memoize(this.visibilityOf.bind(this))
  private readonly authorizeOrderBy = memoize(this.authorizeOrderTerms.bind(this))
  private readonly authorizeSelect = memoize(this.authorizeSelectItems.bind(this))
  private readonly authorizeExpand = memoize(this.authorizeExpansions.bind(this))

  private visibilityOf(of: Entity, { row }: RowSource) {
    return isRecordVisible(of, row, this.actor, this.policy)
  }

  private authorizeOrderTerms(orderBy: Plan['orderBy']) {
    return orderBy.map(o => this.authorizeOrderTerm(o))
  }

  private authorizeSelectItems(select: Plan['select'], source: ColumnSource) {
    return select.map(s => this.authorizeSelectItem(s, source))
  }

  private authorizeExpansions(expand: Plan['expand'], source: ColumnSource) {
    return expand.map(e => this.authorizeExpansion(e, source))
  }

  private authorizeExpansion(expansion: Expansion, from: ColumnSource): Expansion {
    const { navigation, plan } = expansion
    const visible =
      staysWithinListing(navigation) && !isEntityHidden(plan.entity.name, this.actor)
        ? TRUE
        : this.isVisible(plan.entity, rowSource(plan.row))
    return {
      ...expansion,
      plan: this.authorizePlan(
        plan,
        allOf(...this.pathReadConditions({ kind: 'via', navigation, from }), visible),
      ),
    }
  }

  private authorizeSelectItem(selected: SelectItem, source: ColumnSource): SelectItem {
    if (selected.kind === 'computed') return { ...selected, value: this.nullUnlessReadable(selected.value) }
    const readable = this.isReadable(selected.scalar, source)
    return isTrue(readable) ? selected : { ...selected, readableIf: readable }
  }

  private authorizeOrderTerm({ expr, descending }: OrderByTerm): OrderByTerm {
    return { expr: this.nullUnlessReadable(expr), descending }
  }

  private nullUnlessReadable(expr: Expr): Expr {
    const readable = allOf(...this.readConditions(expr))
    return isTrue(readable) ? expr : { kind: 'nullUnless', when: readable, value: expr, type: expr.type }
  }

  /** Adds to a filter the permission to read every field that it uses. */
  private withReadConditions(filter: Expr): Expr {
    return allOf(...this.readConditions(filter), filter)
  }

  private isReadable(scalar: Scalar, source: ColumnSource): Expr {
    return isFieldReadable(scalar, source, this.actor, this.policy)
  }

  /** Returns the condition for reading each restricted field that the expression uses. */
  private readConditions(expr: Expr): readonly Expr[] {
    switch (expr.kind) {
      case 'literal':
      case 'parameter':
      case 'element':
      // `authorizeDerived` checks the expressions that the result is computed from.
      case 'result':
      // Part of permissions only.
      case 'inFeed':
        return []
      // The search column contains text that everyone can read, unless a feed hides it.
      case 'search':
        return SEARCHED_FIELDS.flatMap(field => this.columnReadConditions(field, rowSource(expr.row)))
      case 'column':
        return this.columnReadConditions(expr.scalar, expr.source)
      case 'list':
        return expr.items.flatMap(i => this.readConditions(i))
      case 'call':
        return expr.args.flatMap(a => this.readConditions(a))
      case 'cast':
        return this.readConditions(expr.arg)
      case 'nullUnless':
        return [...this.readConditions(expr.when), ...this.readConditions(expr.value)]
      case 'lambda':
        return [...this.collectionReadConditions(expr.over), ...this.outerReadConditions(expr.body, expr.row)]
      case 'count':
        return [
          ...this.collectionReadConditions(expr.over),
          ...this.outerReadConditions(expr.filter, expr.row),
        ]
    }
  }

  private collectionReadConditions(over: Collection): readonly Expr[] {
    return over.kind === 'values'
      ? this.columnReadConditions(over.scalar, over.source)
      : this.pathReadConditions({ kind: 'via', navigation: over.navigation, from: over.source })
  }

  private columnReadConditions(scalar: Scalar, source: ColumnSource): readonly Expr[] {
    return [this.isReadable(scalar, source), ...this.pathReadConditions(source)].filter(
      readable => !isTrue(readable),
    )
  }

  /**
   * A path discloses the fields that it joins by. A filter on any field of the buyer's agent discloses that
   * agent.
   */
  private pathReadConditions(source: ColumnSource): readonly Expr[] {
    if (source.kind !== 'via') return []
    if (isEntityHidden(source.navigation.target, this.actor)) return [FALSE]
    const local = JOIN_FIELDS.get(source.navigation)
    return [...(local ? [this.isReadable(local, source.from)] : []), ...this.pathReadConditions(source.from)]
  }

  /**
   * Returns the conditions outside of a lambda. They must hold for all of its elements. A field of the
   * elements with a condition that depends on the element does not exist in the model: only listings have
   * such fields, and no collection contains listings. Such a condition becomes false.
   */
  private outerReadConditions(body: Expr | undefined, row: string): readonly Expr[] {
    return (body ? this.readConditions(body) : []).map(c => (isFalse(c) || dependsOnRow(c, row) ? FALSE : c))
  }
}

/** The field on the near side of each navigation's join. */
const JOIN_FIELDS: ReadonlyMap<Navigation, Scalar> = new Map(
  ALL_ENTITIES.flatMap(e => e.navigations.map(n => [n, getScalar(e, n.local)] as const)),
)

function transformExpressions(transform: DerivedTable['transform']): readonly Expr[] {
  if (transform.kind === 'window') return transform.orderBy.map(o => o.expr)
  return [...transform.groups, ...transform.aggregates.flatMap(a => (a.of ? [a.of.expr] : []))]
}

function dependsOnRow(condition: Expr, row: string): boolean {
  if (condition.kind === 'call') return condition.args.some(a => dependsOnRow(a, row))
  if (condition.kind === 'inFeed') return dependsOnRow(condition.key, row)
  return condition.kind === 'column' && isRootedAt(condition.source, row)
}

function isRootedAt(source: ColumnSource, row: string): boolean {
  if (source.kind === 'key') return false
  return source.kind === 'row' ? source.row === row : isRootedAt(source.from, row)
}
