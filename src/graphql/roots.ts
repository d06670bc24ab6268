import type { FieldNode, GraphQLField, GraphQLObjectType } from 'graphql'
import type { ParseLimits } from '../language/parser-budget.js'
import type { Entity } from '../model/model.js'
import type { Reading } from '../service.js'
import type { Writing } from '../writing.js'
import { readQuery, readWindow } from './arguments.js'
import { readConnection } from './connection.js'
import type { GraphQLContext } from './context.js'
import { readGlobalId } from './global-id.js'
import { mutate } from './mutations.js'
import { ROOT_FIELDS } from './names.js'
import { type Input, type Operation, readArguments } from './operation.js'
import { NOTATION, readSelection } from './selection.js'

/** The two halves of the port, and what one text in the language of OData may cost. */
export interface Port {
  readonly reading: Reading
  readonly writing: Writing
  readonly limits: ParseLimits
}

/** A field of Query or Mutation that an operation asks for. */
export interface RootAsked {
  readonly type: GraphQLObjectType
  readonly field: GraphQLField<unknown, unknown>
  readonly key: string
  readonly nodes: readonly FieldNode[]
}

/** A field with everything that its answer rests on. */
export interface Asking {
  readonly port: Port
  readonly operation: Operation
  readonly context: GraphQLContext
  readonly args: Input
  readonly nodes: readonly FieldNode[]
}

/** The value of a root field as JSON, in the shape that was asked for: one query, one plan. Nothing below it reads or computes anything. */
export function answer(port: Port, operation: Operation, context: GraphQLContext, { type, field, key, nodes }: RootAsked): Promise<string> {
  const args = readArguments(operation, { key, name: field.name, nodes }, field)
  const asking = { port, operation, context, args, nodes }
  if (type.name === 'Mutation') return mutate(field.name, asking)
  const root = ROOT_FIELDS.get(field.name)
  if (!root) return readNode(asking)
  return root.form === 'one' ? readOne(root.entity, String(args[root.entity.key.name]), asking) : readMany(root.entity, asking)
}

/** Null stands for a record that is not there, or that the actor cannot see. */
async function readOne(of: Entity, key: string, { port, operation, context, nodes }: Asking): Promise<string> {
  const found = await port.reading.get(of, key, { query: readSelection(operation, port, of, nodes), notation: NOTATION }, context.actor)
  return found?.json ?? 'null'
}

async function readNode(asking: Asking): Promise<string> {
  const named = readGlobalId(String(asking.args['id']))
  return named ? readOne(named.of, named.key, asking) : 'null'
}

async function readMany(of: Entity, { port, operation, context, args, nodes }: Asking): Promise<string> {
  const selection = readConnection(operation, port, of, nodes)
  const query = { ...readQuery(port, of, args), ...selection.query, count: selection.isCounted }
  const found = await port.reading.browse(of, { query, notation: NOTATION }, context.actor, readWindow(args), selection.wanted)
  return selection.render(found)
}
