import {
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLField,
  type GraphQLNamedType,
  type GraphQLSchema,
  getNamedType,
  isInterfaceType,
  isLeafType,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
  type ValueNode,
  visit,
} from 'graphql'
import type { Config } from '../../config/config.js'
import { fail } from '../../errors/problem.js'
import { fragmentsOf, type InputValues } from '../execute/collect-fields.js'
import type { NodeWithSelectionSet } from './document-limits.js'

export type CostLimits = Pick<Config, 'maxCost' | 'pageSize'>

/** An operation of a valid document, and the values of its variables as they were sent. */
export interface CostCheckArgs {
  readonly document: DocumentNode
  readonly operation: OperationDefinitionNode
  readonly variables: InputValues
}

/**
 * Records that a collection in a record is taken to hold when no `first` says so: listings have about ten
 * pictures, six rooms and one open house.
 */
const ASSUMED_LIST_SIZE = 10

/** What is known of an operation that has passed. */
interface CostCheckEntry {
  /** The variables that its price depends on. */
  readonly slicingVariables: readonly string[]
  /** Their values when it passed last. */
  readonly slicingValues: string
}

/**
 * Refuses an operation that may be expected to read more than MAX_COST records: the size of each page, times
 * that of the collections in its records. A field counts even where @skip could leave it out. `createScreen`
 * has bounded the walk; it is not repeated for the sizes that were asked for before.
 * @throws ProblemError QueryTooComplex, from the function that is returned
 */
export function createCostCheck(schema: GraphQLSchema, limits: CostLimits): (args: CostCheckArgs) => void {
  const entries = new WeakMap<OperationDefinitionNode, CostCheckEntry>()
  return args => {
    const { document, operation, variables } = args
    const entry = entries.get(operation)
    const slicingVariables = entry?.slicingVariables ?? findSlicingVariables(document)
    const slicingValues = toSlicingValues(slicingVariables, variables)
    if (entry?.slicingValues === slicingValues) return
    const rootType = schema.getRootType(operation.operation)
    if (rootType) new CostCalculator(schema, args, rootType, limits).addSelectionSet(operation, rootType, 1)
    entries.set(operation, { slicingVariables, slicingValues })
  }
}

/** Arguments that say how many records a field stands for, the first one first. */
const SLICING_ARGUMENTS = ['first', 'last'] as const

function findSlicingVariables(document: DocumentNode): readonly string[] {
  const names = new Set<string>()
  visit(document, {
    Argument({ name, value }) {
      if (SLICING_ARGUMENTS.some(argument => argument === name.value) && value.kind === Kind.VARIABLE)
        names.add(value.name.value)
    },
  })
  return [...names]
}

/** A variable that is absent has its default; what is no number counts for nothing. */
const toSlicingValues = (slicingVariables: readonly string[], variables: InputValues): string =>
  slicingVariables
    .map(name =>
      Object.hasOwn(variables, name) ? (isListSize(variables[name]) ? variables[name] : '-') : '',
    )
    .join()

const isListSize = (value: unknown): value is number => typeof value === 'number' && value >= 0

class CostCalculator {
  #recordCount = 0
  readonly #fragments: Readonly<Record<string, FragmentDefinitionNode>>

  constructor(
    private readonly schema: GraphQLSchema,
    private readonly args: CostCheckArgs,
    private readonly rootType: GraphQLNamedType,
    private readonly limits: CostLimits,
  ) {
    this.#fragments = fragmentsOf(args.document)
  }

  /** `times`: how many objects of this type the answer may hold. */
  addSelectionSet({ selectionSet }: NodeWithSelectionSet, type: GraphQLNamedType, multiplier: number): void {
    for (const selection of selectionSet?.selections ?? []) {
      if (selection.kind === Kind.FIELD) this.#addField(selection, type, multiplier)
      else
        this.#addFragment(
          selection.kind === Kind.INLINE_FRAGMENT ? selection : this.#fragments[selection.name.value],
          type,
          multiplier,
        )
    }
  }

  #addFragment(
    fragment:
      | (NodeWithSelectionSet & Pick<FragmentDefinitionNode, 'typeCondition'>)
      | NodeWithSelectionSet
      | undefined,
    type: GraphQLNamedType,
    multiplier: number,
  ): void {
    const condition = fragment && 'typeCondition' in fragment ? fragment.typeCondition?.name.value : undefined
    if (fragment)
      this.addSelectionSet(
        fragment,
        (condition !== undefined && this.schema.getType(condition)) || type,
        multiplier,
      )
  }

  #addField(node: FieldNode, type: GraphQLNamedType, multiplier: number): void {
    const field = isObjectType(type) || isInterfaceType(type) ? type.getFields()[node.name.value] : undefined
    const target = field && getNamedType(field.type)
    if (!field || !target || isLeafType(target)) return
    const readsRecords = type === this.rootType || isRecordType(type)
    const nestedMultiplier = multiplier * this.#listSizeOf(field, node)
    if (readsRecords) this.#recordCount += nestedMultiplier
    if (this.#recordCount > this.limits.maxCost) this.#failTooComplex(node)
    this.addSelectionSet(node, target, nestedMultiplier)
  }

  /**
   * How many records a field stands for. The parts of a connection stand for those that are counted already.
   */
  #listSizeOf(field: GraphQLField<unknown, unknown>, node: FieldNode): number {
    if (!field.args.some(argument => argument.name === 'first')) return 1
    const [first, last] = SLICING_ARGUMENTS.map(name => this.#slicingArgument(node, name))
    return (
      first ?? last ?? (isRecordType(getNamedType(field.type)) ? ASSUMED_LIST_SIZE : this.limits.pageSize)
    )
  }

  #slicingArgument({ arguments: args = [] }: FieldNode, name: string): number | undefined {
    const value = this.#valueOf(args.find(argument => argument.name.value === name)?.value)
    return isListSize(value) ? value : undefined
  }

  #valueOf(node: ValueNode | undefined): unknown {
    if (node?.kind === Kind.INT) return Number(node.value)
    if (node?.kind !== Kind.VARIABLE) return undefined
    const name = node.name.value
    const { variables, operation } = this.args
    if (Object.hasOwn(variables, name)) return variables[name]
    return this.#valueOf(
      operation.variableDefinitions?.find(definition => definition.variable.name.value === name)
        ?.defaultValue,
    )
  }

  #failTooComplex({ loc }: FieldNode): never {
    return fail({
      kind: 'QueryTooComplex',
      what: 'records to read',
      limit: this.limits.maxCost,
      at: { source: 'query', ...(loc && { offset: loc.start }) },
    })
  }
}

/** Types of records implement Node, and only they do. */
const isRecordType = (type: GraphQLNamedType): boolean =>
  type.name === 'Node' || (isObjectType(type) && type.getInterfaces().some(({ name }) => name === 'Node'))
