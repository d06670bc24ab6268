import type { Entity } from '../../model/model.js'
import type { Query } from '../../query/ast.js'
import { remember } from '../../query/memoize.js'
import type { WindowAsked } from '../../service/reading.js'
import { readGlobalId } from '../schema/global-id.js'
import { ROOT_FIELDS } from '../schema/names.js'
import { readArguments } from './argument-values.js'
import { mutate } from './mutations.js'
import type { Asked, Operation } from './operation.js'
import { readQuery, readWindow } from './query-arguments.js'
import { type ConnectionSelection, readConnection } from './relay-connection.js'
import { type Asking, type Port, queryOf, type RootAsked, viewOf } from './root-field.js'
import { NOTATION } from './selection.js'

/**
 * The value of a root field as JSON, in the shape that was asked for: one query, one plan. Nothing below it
 * reads or computes anything.
 */
export function answer(root: RootAsked): Promise<string> {
  const { shape, variables, type, field, asked } = root
  const asking = { ...root, args: readArguments({ ...shape, variables }, asked, field) }
  if (type.name === 'Mutation') return mutate(field.name, asking)
  const found = ROOT_FIELDS.get(field.name)
  if (!found) return readNode(asking)
  return found.form === 'one'
    ? readOne(found.entity, String(asking.args[found.entity.key.name]), asking)
    : readMany(found.entity, asking)
}

/** Kept with the frame, as `viewOf` keeps what is read of a record. */
const connectionOf = remember((asked: Asked, shape: Operation, port: Port, of: Entity) =>
  readConnection(shape, port, of, asked.nodes),
)

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
  const window = readWindow(args)
  const query = queryOf(asked, args, () => toPageQuery(readQuery(port, of, args), selection, window))
  const found = await port.reading.browse(
    of,
    { query, notation: NOTATION },
    context.actor,
    window,
    selection.wanted,
  )
  return selection.render(found)
}

function toPageQuery(
  narrowed: Query,
  { query, isCounted, wanted }: ConnectionSelection,
  { first, last }: WindowAsked,
): Query {
  const top = wanted.records ? (first ?? last) : 0
  return { ...narrowed, ...query, count: isCounted, ...(top !== undefined && { top }) }
}
