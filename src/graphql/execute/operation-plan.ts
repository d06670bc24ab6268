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
import { type Asked, asField, type Input, type Operation, readFields, readFragments } from './operation.js'

/**
 * What an operation asks for at its root. It is the same object for the same question, so that what is made
 * of it can be remembered with it.
 */
export interface Frame {
  /** Selections are read with this: of the variables only those that shape them count. */
  readonly shape: Operation
  readonly fields: readonly Asked[]
}

/** What is known of an operation before its variables are. */
interface Outline {
  readonly id: number
  readonly fragments: Operation['fragments']
  /** Variables that stand elsewhere than in an argument of a root field. */
  readonly shaping: readonly string[]
}

/**
 * Fields of the frames that are kept, each time that a fragment spreads them. What is made of one, its SQL
 * included, takes some 400 bytes.
 */
const KEPT_FIELDS = 2 ** 16
/** Characters of variables that take as much. */
const CHARACTERS_A_FIELD = 200

/**
 * Keeps the frames of the operations that are asked again and again: Apollo keeps their documents, and gives
 * the same one for the same text.
 */
export class Frames {
  readonly #outlines = new WeakMap<OperationDefinitionNode, Outline>()
  readonly #frames = new LRUCache<string, Frame>({ maxSize: KEPT_FIELDS, sizeCalculation: weigh })
  #operations = 0

  constructor(private readonly schema: GraphQLSchema) {}

  open(
    document: DocumentNode,
    operation: OperationDefinitionNode,
    root: GraphQLObjectType,
    variables: Input,
  ): Frame {
    const { id, fragments, shaping } = this.#outlineOf(document, operation)
    // A variable that is absent is another one than one that is null.
    const key = `${id} ${JSON.stringify(shaping.map(name => (Object.hasOwn(variables, name) ? [variables[name]] : [])))}`
    const known = this.#frames.get(key)
    if (known) return known
    // The others are those of one request, and may be large.
    const shape = {
      schema: this.schema,
      fragments,
      variables: Object.fromEntries(Object.entries(variables).filter(([name]) => shaping.includes(name))),
    }
    const frame = { shape, fields: readFields(shape, root, [asField(operation)]) }
    this.#frames.set(key, frame)
    return frame
  }

  #outlineOf(document: DocumentNode, operation: OperationDefinitionNode): Outline {
    const known = this.#outlines.get(operation)
    if (known) return known
    const outline = {
      id: ++this.#operations,
      fragments: readFragments(document),
      shaping: findShaping(document, this.schema),
    }
    this.#outlines.set(operation, outline)
    return outline
  }
}

function weigh({ shape, fields }: Frame, key: string): number {
  const spread = fields.reduce((sum, { nodes }) => sum + countFields(nodes, shape.fragments), 0)
  return 1 + spread + Math.floor(key.length / CHARACTERS_A_FIELD)
}

/**
 * The fields below some selections, with those of fragments wherever they are spread. Validation has made
 * sure that there is no circle.
 */
function countFields(selections: readonly SelectionNode[], fragments: Operation['fragments']): number {
  const known = new Map<string, number>()
  const countAll = (list: readonly SelectionNode[]): number =>
    list.reduce((sum, node) => sum + count(node), 0)
  const count = (node: SelectionNode): number => {
    if (node.kind === Kind.FRAGMENT_SPREAD) return countFragment(node.name.value)
    const below = countAll(node.selectionSet?.selections ?? [])
    return node.kind === Kind.FIELD ? below + 1 : below
  }
  const countFragment = (name: string): number => {
    const found = known.get(name) ?? countAll(fragments[name]?.selectionSet.selections ?? [])
    known.set(name, found)
    return found
  }
  return countAll(selections)
}

/** The arguments of root fields are left aside: they are read anew for each request. */
function findShaping(document: DocumentNode, schema: GraphQLSchema): readonly string[] {
  const roots = new Set([schema.getQueryType()?.name, schema.getMutationType()?.name])
  const names = new Set<string>()
  const note = { Variable: ({ name }: VariableNode) => void names.add(name.value) }
  let level = 0
  visit(document, {
    ...note,
    VariableDefinition: () => false,
    FragmentDefinition: ({ typeCondition }) => {
      level = roots.has(typeCondition.name.value) ? 0 : 1
    },
    OperationDefinition: () => {
      level = 0
    },
    Field: { enter: () => void level++, leave: () => void level-- },
    Directive: node => {
      visit(node, note)
      return false
    },
    Argument: () => (level === 1 ? false : undefined),
  })
  return [...names]
}
