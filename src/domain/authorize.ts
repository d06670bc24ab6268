import { LRUCache } from 'lru-cache'
import { ENTITIES, type Entity, type Navigation, type Scalar, scalar } from '../model/model.js'
import { numberOf, recall, remember } from '../query/memoize.js'
import {
  allOf,
  type Collection,
  type Derived,
  type Expansion,
  type Expr,
  FALSE,
  isFalse,
  isTrue,
  type Order,
  type Plan,
  type RowSource,
  rowSource,
  type Selected,
  type Source,
  TRUE,
} from '../query/plan.js'
import type { Actor } from './actor.js'
import { isReadable, isVisible, type Policy, staysInListing } from './visibility.js'

/**
 * Puts permissions into a plan, once, for every adapter and every part of it (decisions 6): what the actor
 * cannot see is not there; a record whose restricted field the filter mentions is left out, wherever in the
 * filter the field stands; an order sees null in place of a restricted value; a selected field knows when it
 * may be shown.
 */
export function restrict(plan: Plan, actor: Actor, policy: Policy): Plan {
  const restriction = restrictionOf(actor, policy)
  return recall(RESTRICTED, `${numberOf(restriction)} ${numberOf(plan)}`, () => restriction.restrict(plan))
}

/**
 * With a plan lives all that is made of it. There are as many as there are queries times actors, so only so
 * many are kept.
 */
const RESTRICTED = new LRUCache<string, Plan>({ max: 2000 })

/** An actor is known as long as its token: its next requests find what was made for it. */
const restrictionOf = remember((actor: Actor, policy: Policy) => new Restriction(actor, policy))

class Restriction {
  constructor(
    private readonly actor: Actor,
    private readonly policy: Policy,
  ) {}

  restrict(plan: Plan): Plan {
    return this.plan(plan, plan.from ? TRUE : this.visible(plan.entity, rowSource(plan.row)))
  }

  private plan(plan: Plan, visible: Expr): Plan {
    const filter = allOf(visible, plan.filter && this.condition(plan.filter))
    const { filter: _, ...rest } = plan
    return {
      ...rest,
      ...(plan.from && { from: this.derived(plan.from) }),
      ...(!isTrue(filter) && { filter }),
      orderBy: this.orderBy(plan.orderBy),
      select: this.select(plan.select, rowSource(plan.row)),
      expand: this.expand(plan.expand, rowSource(plan.row)),
    }
  }

  /**
   * What transformations read is left out as what a filter mentions is, whatever they do with it: a group or
   * a sum would tell of it.
   */
  private derived(derived: Derived): Derived {
    const { entity, from, row, filter } = derived
    const visible = from ? TRUE : this.visible(entity, rowSource(row))
    const mentioned = [...(filter ? [filter] : []), ...usedBy(derived.makes)].flatMap(e => this.mentions(e))
    return {
      ...derived,
      ...(from && { from: this.derived(from) }),
      filter: allOf(visible, ...mentioned, filter),
    }
  }

  private readonly visible = remember((of: Entity, { row }: RowSource) => isVisible(of, row, this.actor))

  private readonly orderBy = remember((orderBy: Plan['orderBy']) => orderBy.map(o => this.order(o)))

  private readonly select = remember((select: Plan['select'], source: Source) =>
    select.map(s => this.selected(s, source)),
  )

  private readonly expand = remember((expand: Plan['expand'], source: Source) =>
    expand.map(e => this.expansion(e, source)),
  )

  private expansion(expansion: Expansion, from: Source): Expansion {
    const { navigation, plan } = expansion
    const visible = staysInListing(navigation) ? TRUE : this.visible(plan.entity, rowSource(plan.row))
    return {
      ...expansion,
      plan: this.plan(plan, allOf(...this.followed({ kind: 'via', navigation, from }), visible)),
    }
  }

  private selected(selected: Selected, source: Source): Selected {
    if (selected.kind === 'computed') return { ...selected, value: this.guarded(selected.value) }
    const readable = this.readable(selected.scalar, source)
    return isTrue(readable) ? selected : { ...selected, readableIf: readable }
  }

  private order({ expr, descending }: Order): Order {
    return { expr: this.guarded(expr), descending }
  }

  private guarded(expr: Expr): Expr {
    const readable = allOf(...this.mentions(expr))
    return isTrue(readable) ? expr : { kind: 'guarded', when: readable, value: expr, type: expr.type }
  }

  /** The filter, and the permission to read all that it mentions. */
  private condition(filter: Expr): Expr {
    return allOf(...this.mentions(filter), filter)
  }

  private readable(scalar: Scalar, source: Source): Expr {
    return isReadable(scalar, source, this.actor, this.policy)
  }

  /** For each restricted field that the expression mentions, the condition under which it may be read. */
  private mentions(expr: Expr): readonly Expr[] {
    switch (expr.kind) {
      case 'literal':
      case 'element':
      // What it was made of is looked at in `derived`.
      case 'result':
      // The text that is searched holds only what everyone may read.
      case 'search':
        return []
      case 'column':
        return this.restricted(expr.scalar, expr.source)
      case 'list':
        return expr.items.flatMap(i => this.mentions(i))
      case 'call':
        return expr.args.flatMap(a => this.mentions(a))
      case 'cast':
        return this.mentions(expr.arg)
      case 'guarded':
        return [...this.mentions(expr.when), ...this.mentions(expr.value)]
      case 'lambda':
        return [...this.mentionsOf(expr.over), ...this.outer(expr.body, expr.row)]
      case 'count':
        return [...this.mentionsOf(expr.over), ...this.outer(expr.filter, expr.row)]
    }
  }

  private mentionsOf(over: Collection): readonly Expr[] {
    return over.kind === 'values'
      ? this.restricted(over.scalar, over.source)
      : this.followed({ kind: 'via', navigation: over.navigation, from: over.source })
  }

  private restricted(scalar: Scalar, source: Source): readonly Expr[] {
    return [this.readable(scalar, source), ...this.followed(source)].filter(readable => !isTrue(readable))
  }

  /** A path tells of the fields that it follows: who the buyer's agent is, by any field of that agent. */
  private followed(source: Source): readonly Expr[] {
    if (source.kind !== 'via') return []
    const local = LOCAL.get(source.navigation)
    return [...(local ? [this.readable(local, source.from)] : []), ...this.followed(source.from)]
  }

  /**
   * Conditions outside the lambda that hold for all its elements. A field of the elements themselves that
   * depends on the element does not exist in the model (only listings have such fields, and no collection
   * holds listings): then nothing is shown.
   */
  private outer(body: Expr | undefined, row: string): readonly Expr[] {
    return (body ? this.mentions(body) : []).map(c => (isFalse(c) || speaksOf(c, row) ? FALSE : c))
  }
}

/** The field of this side of each navigation's join. */
const LOCAL: ReadonlyMap<Navigation, Scalar> = new Map(
  [...ENTITIES.values()].flatMap(e => e.navigations.map(n => [n, scalar(e, n.local)] as const)),
)

function usedBy(makes: Derived['makes']): readonly Expr[] {
  if (makes.kind === 'window') return makes.orderBy.map(o => o.expr)
  return [...makes.groups, ...makes.aggregates.flatMap(a => (a.of ? [a.of.expr] : []))]
}

function speaksOf(condition: Expr, row: string): boolean {
  if (condition.kind === 'call') return condition.args.some(a => speaksOf(a, row))
  return condition.kind === 'column' && startsAt(condition.source, row)
}

function startsAt(source: Source, row: string): boolean {
  if (source.kind === 'key') return false
  return source.kind === 'row' ? source.row === row : startsAt(source.from, row)
}
