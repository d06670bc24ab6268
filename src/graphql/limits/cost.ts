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
import { type Input, readFragments } from '../execute/operation.js'
import type { Selecting } from './document-limits.js'

export type CostLimits = Pick<Config, 'maxCost' | 'pageSize'>

/** An operation of a valid document, and the values of its variables as they were sent. */
export interface Priced {
  readonly document: DocumentNode
  readonly operation: OperationDefinitionNode
  readonly variables: Input
}

/**
 * Records that a collection in a record is taken to hold when no `first` says so: listings have about ten
 * pictures, six rooms and one open house.
 */
const NESTED_RECORDS = 10

/** What is known of an operation that has passed. */
interface Passed {
  /** The variables that its price depends on. */
  readonly sizing: readonly string[]
  /** Their values when it passed last. */
  readonly sizes: string
}

/**
 * Refuses an operation that may be expected to read more than MAX_COST records: the size of each page, times
 * that of the collections in its records. A field counts even where @skip could leave it out. `createScreen`
 * has bounded the walk; it is not repeated for the sizes that were asked for before.
 * @throws ProblemError QueryTooComplex, from the function that is returned
 */
export function createCostCheck(schema: GraphQLSchema, limits: CostLimits): (priced: Priced) => void {
  const known = new WeakMap<OperationDefinitionNode, Passed>()
  return priced => {
    const { document, operation, variables } = priced
    const passed = known.get(operation)
    const sizing = passed?.sizing ?? findSizing(document)
    const sizes = describeSizes(sizing, variables)
    if (passed?.sizes === sizes) return
    const root = schema.getRootType(operation.operation)
    if (root) new Cost(schema, priced, root, limits).add(operation, root, 1)
    known.set(operation, { sizing, sizes })
  }
}

/** Arguments that say how many records a field stands for, the first one first. */
const SIZES = ['first', 'last'] as const

function findSizing(document: DocumentNode): readonly string[] {
  const names = new Set<string>()
  visit(document, {
    Argument({ name, value }) {
      if (SIZES.some(size => size === name.value) && value.kind === Kind.VARIABLE) names.add(value.name.value)
    },
  })
  return [...names]
}

/** A variable that is absent has its default; what is no number counts for nothing. */
const describeSizes = (sizing: readonly string[], variables: Input): string =>
  sizing
    .map(name => (Object.hasOwn(variables, name) ? (isSize(variables[name]) ? variables[name] : '-') : ''))
    .join()

const isSize = (value: unknown): value is number => typeof value === 'number' && value >= 0

class Cost {
  #records = 0
  readonly #fragments: Readonly<Record<string, FragmentDefinitionNode>>

  constructor(
    private readonly schema: GraphQLSchema,
    private readonly priced: Priced,
    private readonly root: GraphQLNamedType,
    private readonly limits: CostLimits,
  ) {
    this.#fragments = readFragments(priced.document)
  }

  /** `times`: how many objects of this type the answer may hold. */
  add({ selectionSet }: Selecting, type: GraphQLNamedType, times: number): void {
    for (const selection of selectionSet?.selections ?? []) {
      if (selection.kind === Kind.FIELD) this.#field(selection, type, times)
      else
        this.#fragment(
          selection.kind === Kind.INLINE_FRAGMENT ? selection : this.#fragments[selection.name.value],
          type,
          times,
        )
    }
  }

  #fragment(
    fragment: (Selecting & Pick<FragmentDefinitionNode, 'typeCondition'>) | Selecting | undefined,
    type: GraphQLNamedType,
    times: number,
  ): void {
    const condition = fragment && 'typeCondition' in fragment ? fragment.typeCondition?.name.value : undefined
    if (fragment)
      this.add(fragment, (condition !== undefined && this.schema.getType(condition)) || type, times)
  }

  #field(node: FieldNode, type: GraphQLNamedType, times: number): void {
    const field = isObjectType(type) || isInterfaceType(type) ? type.getFields()[node.name.value] : undefined
    const target = field && getNamedType(field.type)
    if (!field || !target || isLeafType(target)) return
    const isRead = type === this.root || isRecord(type)
    const records = times * this.#sizeOf(field, node)
    if (isRead) this.#records += records
    if (this.#records > this.limits.maxCost) this.#refuse(node)
    this.add(node, target, records)
  }

  /**
   * How many records a field stands for. The parts of a connection stand for those that are counted already.
   */
  #sizeOf(field: GraphQLField<unknown, unknown>, node: FieldNode): number {
    if (!field.args.some(argument => argument.name === 'first')) return 1
    const [first, last] = SIZES.map(name => this.#number(node, name))
    return first ?? last ?? (isRecord(getNamedType(field.type)) ? NESTED_RECORDS : this.limits.pageSize)
  }

  #number({ arguments: args = [] }: FieldNode, name: string): number | undefined {
    const value = this.#valueOf(args.find(argument => argument.name.value === name)?.value)
    return isSize(value) ? value : undefined
  }

  #valueOf(node: ValueNode | undefined): unknown {
    if (node?.kind === Kind.INT) return Number(node.value)
    if (node?.kind !== Kind.VARIABLE) return undefined
    const name = node.name.value
    const { variables, operation } = this.priced
    if (Object.hasOwn(variables, name)) return variables[name]
    return this.#valueOf(
      operation.variableDefinitions?.find(definition => definition.variable.name.value === name)
        ?.defaultValue,
    )
  }

  #refuse({ loc }: FieldNode): never {
    return fail({
      kind: 'QueryTooComplex',
      what: 'records to read',
      limit: this.limits.maxCost,
      at: { source: 'query', ...(loc && { offset: loc.start }) },
    })
  }
}

/** Types of records implement Node, and only they do. */
const isRecord = (type: GraphQLNamedType): boolean =>
  type.name === 'Node' || (isObjectType(type) && type.getInterfaces().some(({ name }) => name === 'Node'))
