import type { GraphQLField, GraphQLObjectType } from 'graphql'
import type { ParseLimits } from '../language/parser-budget.js'
import type { Entity } from '../model/model.js'
import { remember } from '../query/remember.js'
import type { Reading, View } from '../service.js'
import type { Writing } from '../writing.js'
import { readQuery, readWindow } from './arguments.js'
import { readConnection } from './connection.js'
import type { GraphQLContext } from './context.js'
import { readGlobalId } from './global-id.js'
import { mutate } from './mutations.js'
import { ROOT_FIELDS } from './names.js'
import { type Asked, type Input, type Operation, readArguments } from './operation.js'
import { NOTATION, readSelection } from './selection.js'

/** The two halves of the port, and what one text in the language of OData may cost. */
export interface Port {
  readonly reading: Reading
  readonly writing: Writing
  readonly limits: ParseLimits
}

/** A field of Query or Mutation that an operation asks for, with everything that its answer rests on. */
export interface RootAsked {
  readonly port: Port
  /** What its selection is read with. */
  readonly shape: Operation
  /** What its arguments are read with. */
  readonly variables: Input
  readonly context: GraphQLContext
  readonly type: GraphQLObjectType
  readonly field: GraphQLField<unknown, unknown>
  readonly asked: Asked
}

/** The same with its arguments. */
export interface Asking extends RootAsked {
  readonly args: Input
}

/** The value of a root field as JSON, in the shape that was asked for: one query, one plan. Nothing below it reads or computes anything. */
export function answer(root: RootAsked): Promise<string> {
  const { shape, variables, type, field, asked } = root
  const asking = { ...root, args: readArguments({ ...shape, variables }, asked, field) }
  if (type.name === 'Mutation') return mutate(field.name, asking)
  const found = ROOT_FIELDS.get(field.name)
  if (!found) return readNode(asking)
  return found.form === 'one' ? readOne(found.entity, String(asking.args[found.entity.key.name]), asking) : readMany(found.entity, asking)
}

/** The selections of the same frame are read once, and with them is kept what others make of them: the plan's parts, and their SQL. */
const recordOf = remember(
  (asked: Asked, shape: Operation, port: Port, of: Entity): View => ({
    query: readSelection(shape, port, of, asked.nodes),
    notation: NOTATION,
  }),
)
const connectionOf = remember((asked: Asked, shape: Operation, port: Port, of: Entity) => readConnection(shape, port, of, asked.nodes))

/** What is read of a record, and how it is written. */
export const viewOf = (of: Entity, { asked, shape, port }: Pick<RootAsked, 'asked' | 'shape' | 'port'>): View => recordOf(asked, shape, port, of)

/** Null stands for a record that is not there, or that the actor cannot see. */
async function readOne(of: Entity, key: string, asking: Asking): Promise<string> {
  const found = await asking.port.reading.get(of, key, viewOf(of, asking), asking.context.actor)
  return found?.json ?? 'null'
}

async function readNode(asking: Asking): Promise<string> {
  const named = readGlobalId(String(asking.args['id']))
  return named ? readOne(named.of, named.key, asking) : 'null'
}

async function readMany(of: Entity, { asked, shape, port, context, args }: Asking): Promise<string> {
  const selection = connectionOf(asked, shape, port, of)
  const query = { ...readQuery(port, of, args), ...selection.query, count: selection.isCounted }
  const found = await port.reading.browse(of, { query, notation: NOTATION }, context.actor, readWindow(args), selection.wanted)
  return selection.render(found)
}
