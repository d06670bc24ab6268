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
import { LRUCache } from 'lru-cache'
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

/** The facts about an operation that do not depend on variables. */
interface OperationAnalysis {
  readonly id: number
  readonly fragments: SelectionContext['fragments']
  /** Variables used anywhere except in an argument of a root field. */
  readonly planVariables: readonly string[]
}

/**
 * Maximum number of fields in cached plans, counted at each spread of a fragment. The results of one field,
 * including its SQL, take about 400 bytes.
 */
const MAX_CACHED_FIELDS = 2 ** 16
/** Characters of variables that count as one field. */
const CHARACTERS_PER_FIELD = 200

/**
 * Caches the plans of repeated operations. Apollo caches documents and returns the same object for the same
 * text.
 */
export class OperationPlanCache {
  readonly #analyses = new WeakMap<OperationDefinitionNode, OperationAnalysis>()
  readonly #plans = new LRUCache<string, OperationPlan>({
    maxSize: MAX_CACHED_FIELDS,
    sizeCalculation: sizeOfPlan,
  })
  #operationCount = 0

  constructor(private readonly schema: GraphQLSchema) {}

  planFor(
    document: DocumentNode,
    operation: OperationDefinitionNode,
    rootType: GraphQLObjectType,
    variables: InputValues,
  ): OperationPlan {
    const { id, fragments, planVariables } = this.#analysisOf(document, operation)
    // An absent variable differs from a null variable.
    const key = `${id} ${JSON.stringify(planVariables.map(name => (Object.hasOwn(variables, name) ? [variables[name]] : [])))}`
    const cached = this.#plans.get(key)
    if (cached) return cached
    // The other variables belong to one request and may be large.
    const selectionContext = {
      schema: this.schema,
      fragments,
      variables: Object.fromEntries(
        Object.entries(variables).filter(([name]) => planVariables.includes(name)),
      ),
    }
    const plan = {
      selectionContext,
      rootFields: collectFields(selectionContext, rootType, [toFieldNode(operation)]),
    }
    this.#plans.set(key, plan)
    return plan
  }

  #analysisOf(document: DocumentNode, operation: OperationDefinitionNode): OperationAnalysis {
    const cached = this.#analyses.get(operation)
    if (cached) return cached
    const analysis = {
      id: ++this.#operationCount,
      fragments: fragmentsOf(document),
      planVariables: findPlanVariables(document, this.schema),
    }
    this.#analyses.set(operation, analysis)
    return analysis
  }
}

function sizeOfPlan({ selectionContext, rootFields }: OperationPlan, key: string): number {
  const fieldCount = rootFields.reduce(
    (sum, { fieldNodes }) => sum + countFields(fieldNodes, selectionContext.fragments),
    0,
  )
  return 1 + fieldCount + Math.floor(key.length / CHARACTERS_PER_FIELD)
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
