import { TRANSITIONS, type Transition } from '../domain/lifecycle.js'
import type { Precondition } from '../domain/precondition.js'
import { fail } from '../errors/problem.js'
import { parseEntityTags } from '../http/etag.js'
import { entity } from '../model/model.js'
import type { Written } from '../writing.js'
import { type Asking, viewOf } from './asking.js'
import { readInput } from './body.js'
import { toGlobalId } from './global-id.js'
import { renderObject } from './json-text.js'
import { type Input, objectType, readFields } from './operation.js'

const PROPERTY = entity('Property')

const MOVES: ReadonlyMap<string, Transition> = new Map(TRANSITIONS.map(t => [t.name, t]))

/** Does what a field of Mutation says, in a transaction of its own, and answers with the record as it then is. */
export async function mutate(name: string, asking: Asking): Promise<string> {
  const { port, context, args } = asking
  if (name === 'deleteProperty') return remove(asking)
  const view = viewOf(PROPERTY, asking)
  if (name === 'createDraft') return jsonOf(port.writing.create(readInput(inputIn(args)), context.actor, view))
  return jsonOf(port.writing.change(keyIn(args), readChange(name, args), context.actor, readCondition(args), view))
}

/** A transition is an update that asks for its status, with the fields that it may need. */
function readChange(name: string, args: Input) {
  const move = MOVES.get(name)
  if (!move) return readInput(inputIn(args))
  const { ListingKey: _, ifMatch: __, ...fields } = args
  return { ...readInput(fields), StandardStatus: move.to }
}

async function remove({ port, shape, context, args, asked: { nodes } }: Asking): Promise<string> {
  const key = keyIn(args)
  const fields = readFields(shape, objectType(shape, 'DeletedProperty'), nodes)
  await port.writing.remove(key, context.actor, readCondition(args))
  const values = new Map([
    ['id', toGlobalId({ of: PROPERTY, key })],
    ['ListingKey', key],
    ['__typename', 'DeletedProperty'],
  ])
  return renderObject(fields.map(asked => [asked.key, JSON.stringify(values.get(asked.name))]))
}

const jsonOf = async (written: Promise<Written>): Promise<string> => (await written).json

const keyIn = (args: Input): string => String(args['ListingKey'])

/** The schema makes it required, and an object. */
const inputIn = (args: Input): Input => args['input'] as Input

function readCondition({ ifMatch }: Input): Precondition {
  if (typeof ifMatch !== 'string') return {}
  return { ifMatch: parseEntityTags(ifMatch) ?? fail({ kind: 'BadOptionValue', option: 'ifMatch', expected: 'the etag of a record', found: ifMatch }) }
}
