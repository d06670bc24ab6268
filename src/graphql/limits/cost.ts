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
  SchemaMetaFieldDef,
  TypeMetaFieldDef,
  type ValueNode,
  visit,
} from 'graphql'
import type { Config } from '../../config/config.js'
import { COMPLEXITY_UNITS } from '../../errors/phrases.js'
import { fail } from '../../errors/problem.js'
import { fragmentsOf, type InputValues } from '../execute/collect-fields.js'
import { DIGEST_FIELD_NAME } from '../schema/digest-types.js'
import type { NodeWithSelectionSet } from './document-limits.js'
import { FieldRepetition } from './field-repetition.js'

export type CostLimits = Pick<Config, 'maxCost' | 'pageSize'>

/** An operation of a valid document and its variables as they were sent. */
export interface CostCheckArgs {
  readonly document: DocumentNode
  readonly operation: OperationDefinitionNode
  readonly variables: InputValues
}

/**
 * The assumed number of records in a collection of a record without `first`. Listings have about ten
 * pictures, six rooms and one open house.
 */
const ASSUMED_LIST_SIZE = 10

/**
 * The number of records that a digest counts as. Reading and hashing its records takes as long as reading
 * about a thousand.
 */
const DIGEST_COST = 5000

/**
 * The number of records that each repetition of an introspection field counts as. Introspection without
 * aliases is free.
 */
const INTROSPECTION_COPY_COST = 1000

/** Fields of the root types that `getFields` does not have. */
const INTROSPECTION_FIELDS: ReadonlyMap<string, GraphQLField<unknown, unknown>> = new Map(
  [SchemaMetaFieldDef, TypeMetaFieldDef].map(field => [field.name, field]),
)

/** The cached result for an operation that has passed. */
interface CostCheckEntry {
  /** The variables that its cost depends on. */
  readonly slicingVariables: readonly string[]
  /** Their values when it passed last. */
  readonly slicingValues: string
}

/**
 * Creates the check that refuses an operation that is expected to read more than MAX_COST records: the page
 * size times the sizes of the collections in its records. An object that has a field under several names
 * counts once for each, so that aliases do not multiply the response. A field counts even if @skip could omit
 * it. `checkDocumentLimits` has limited the size of the traversal, which is not repeated for the same values
 * of the variables.
 * @throws ProblemError QueryTooComplex, from the returned function
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
    if (rootType)
      new CostCalculator(schema, args, rootType, limits).addSelectionSet(operation, rootType, 1, '')
    entries.set(operation, { slicingVariables, slicingValues })
  }
}

/** Arguments that limit the records of a field. The first one present applies. */
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

/** An absent variable has its default value. A value that is not a number does not count. */
const toSlicingValues = (slicingVariables: readonly string[], variables: InputValues): string =>
  slicingVariables
    .map(name =>
      Object.hasOwn(variables, name) ? (isListSize(variables[name]) ? variables[name] : '-') : '',
    )
    .join()

const isListSize = (value: unknown): value is number => typeof value === 'number' && value >= 0

class CostCalculator {
  #recordCount = 0
  readonly #repetition = new FieldRepetition()
  readonly #fragments: Readonly<Record<string, FragmentDefinitionNode>>

  constructor(
    private readonly schema: GraphQLSchema,
    private readonly args: CostCheckArgs,
    private readonly rootType: GraphQLNamedType,
    private readonly limits: CostLimits,
  ) {
    this.#fragments = fragmentsOf(args.document)
  }

  /**
   * @param multiplier the number of objects of this type that the response can contain
   * @param path of the object in the response
   */
  addSelectionSet(
    { selectionSet }: NodeWithSelectionSet,
    type: GraphQLNamedType,
    multiplier: number,
    path: string,
  ): void {
    for (const selection of selectionSet?.selections ?? []) {
      if (selection.kind === Kind.FIELD) this.#addField(selection, type, multiplier, path)
      else
        this.#addFragment(
          selection.kind === Kind.INLINE_FRAGMENT ? selection : this.#fragments[selection.name.value],
          type,
          multiplier,
          path,
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
    path: string,
  ): void {
    const condition = fragment && 'typeCondition' in fragment ? fragment.typeCondition?.name.value : undefined
    if (fragment)
      this.addSelectionSet(
        fragment,
        (condition !== undefined && this.schema.getType(condition)) || type,
        multiplier,
        path,
      )
  }

  #addField(node: FieldNode, type: GraphQLNamedType, multiplier: number, path: string): void {
    const { name, alias } = node
    const responseName = alias?.value ?? name.value
    const field = this.#fieldOf(type, name.value)
    const target = field && getNamedType(field.type)
    const isComposite = field !== undefined && target !== undefined && !isLeafType(target)
    const nestedMultiplier = isComposite ? this.#multiplierOf(field, node, multiplier) : 0
    if (isComposite && this.#readsRecords(type, name.value)) this.#addRecords(nestedMultiplier, node)
    else if (this.#repetition.add(path, name.value, responseName)) this.#addRecords(multiplier, node)
    if (isComposite) this.addSelectionSet(node, target, nestedMultiplier, `${path}/${responseName}`)
  }

  #readsRecords(type: GraphQLNamedType, fieldName: string): boolean {
    return type === this.rootType ? !INTROSPECTION_FIELDS.has(fieldName) : isRecordType(type)
  }

  #fieldOf(type: GraphQLNamedType, name: string): GraphQLField<unknown, unknown> | undefined {
    if (!isObjectType(type) && !isInterfaceType(type)) return undefined
    return type.getFields()[name] ?? (type === this.rootType ? INTROSPECTION_FIELDS.get(name) : undefined)
  }

  #addRecords(count: number, node: FieldNode): void {
    this.#recordCount += count
    if (this.#recordCount > this.limits.maxCost) this.#failTooComplex(node)
  }

  #multiplierOf(field: GraphQLField<unknown, unknown>, node: FieldNode, multiplier: number): number {
    if (field.name === DIGEST_FIELD_NAME) return DIGEST_COST
    if (INTROSPECTION_FIELDS.has(field.name)) return INTROSPECTION_COPY_COST
    return multiplier * this.#listSizeOf(field, node)
  }

  /**
   * Returns the number of records that a field counts as. The records of a connection are counted once, not
   * again for its parts.
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
      what: COMPLEXITY_UNITS.records,
      limit: this.limits.maxCost,
      at: { source: 'query', ...(loc && { offset: loc.start }) },
    })
  }
}

/** Exactly the types of records implement Node. */
const isRecordType = (type: GraphQLNamedType): boolean =>
  type.name === 'Node' || (isObjectType(type) && type.getInterfaces().some(({ name }) => name === 'Node'))
