import {
  type DocumentNode,
  type GraphQLObjectType,
  type GraphQLSchema,
  Kind,
  type OperationDefinitionNode,
  type SelectionNode,
  type VariableNode,
  visit,
} from 'graphql'
import { memoize, objectId } from '../../query/memoize.js'
import type { PlanCache, PlanCacheLevel } from '../../query/plan-cache.js'
import {
  type CollectedField,
  collectFields,
  fragmentsOf,
  type InputValues,
  type SelectionContext,
  toFieldNode,
} from './collect-fields.js'

/**
 * The root fields of an operation. Equal operations share one object, by which further results are memoized.
 */
export interface OperationPlan {
  /** The context for reading selections. It contains only the variables that affect selections. */
  readonly selectionContext: SelectionContext
  readonly rootFields: readonly CollectedField[]
}

/** The properties of an operation that do not depend on variables. */
interface OperationAnalysis {
  readonly fragments: SelectionContext['fragments']
  /** Variables used anywhere except in an argument of a root field. */
  readonly planVariables: readonly string[]
}

/** Plans of operations, with the part of their SQL that does not depend on arguments. */
const OPERATION_LEVEL: PlanCacheLevel<OperationPlan> = {
  name: 'GraphQL operation',
  sizeOf: (key, { selectionContext, rootFields }) => {
    const counts = rootFields.map(({ fieldNodes }) => countFields(fieldNodes, selectionContext.fragments))
    return 4 + counts.reduce((sum, count) => sum + count, 0) * KILOBYTES_PER_FIELD + key.length / 500
  },
}
const KILOBYTES_PER_FIELD = 0.4

/**
 * Plans operations. Plans are cached: equal documents are one object, and so are the plans of equal operations.
 */
export class OperationPlanner {
  readonly #analysisOf: (document: DocumentNode) => OperationAnalysis

  constructor(
    private readonly schema: GraphQLSchema,
    private readonly plans: PlanCache,
  ) {
    this.#analysisOf = memoize(function analyze(document: DocumentNode) {
      return { fragments: fragmentsOf(document), planVariables: findPlanVariables(document, schema) }
    })
  }

  planFor(
    document: DocumentNode,
    operation: OperationDefinitionNode,
    rootType: GraphQLObjectType,
    variables: InputValues,
  ): OperationPlan {
    const { fragments, planVariables } = this.#analysisOf(document)
    // An absent variable differs from a null variable.
    const values = planVariables.map(name => (Object.hasOwn(variables, name) ? [variables[name]] : []))
    const key = `${objectId(operation)} ${JSON.stringify(values)}`
    return this.plans.getOrCreate(OPERATION_LEVEL, key, () => {
      // The other variables belong to one request and may be large.
      const own = Object.entries(variables).filter(([name]) => planVariables.includes(name))
      const selectionContext = { schema: this.schema, fragments, variables: Object.fromEntries(own) }
      return {
        selectionContext,
        rootFields: collectFields(selectionContext, rootType, [toFieldNode(operation)]),
      }
    })
  }
}

/**
 * Counts the fields of selections, including those of fragments wherever they are spread. Validation has
 * excluded cycles.
 */
function countFields(selections: readonly SelectionNode[], fragments: SelectionContext['fragments']): number {
  const fragmentCounts = new Map<string, number>()
  const countAll = (list: readonly SelectionNode[]): number =>
    list.reduce((sum, node) => sum + count(node), 0)
  const count = (node: SelectionNode): number => {
    if (node.kind === Kind.FRAGMENT_SPREAD) return countFragment(node.name.value)
    const below = countAll(node.selectionSet?.selections ?? [])
    return node.kind === Kind.FIELD ? below + 1 : below
  }
  const countFragment = (name: string): number => {
    const found = fragmentCounts.get(name) ?? countAll(fragments[name]?.selectionSet.selections ?? [])
    fragmentCounts.set(name, found)
    return found
  }
  return countAll(selections)
}

/**
 * Returns the variables that affect a plan. The arguments of root fields are excluded: they are read for each
 * request.
 */
function findPlanVariables(document: DocumentNode, schema: GraphQLSchema): readonly string[] {
  const roots = new Set([schema.getQueryType()?.name, schema.getMutationType()?.name])
  const names = new Set<string>()
  const collectVariables = { Variable: ({ name }: VariableNode) => void names.add(name.value) }
  let depth = 0
  visit(document, {
    ...collectVariables,
    VariableDefinition: () => false,
    FragmentDefinition: ({ typeCondition }) => {
      depth = roots.has(typeCondition.name.value) ? 0 : 1
    },
    OperationDefinition: () => {
      depth = 0
    },
    Field: { enter: () => void depth++, leave: () => void depth-- },
    Directive: node => {
      visit(node, collectVariables)
      return false
    },
    Argument: () => (depth === 1 ? false : undefined),
  })
  return [...names]
}
