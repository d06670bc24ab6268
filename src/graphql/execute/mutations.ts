import { JsonNumber, type JsonObject, type JsonValue } from '../../domain/json.js'
import { TRANSITIONS, type Transition } from '../../domain/lifecycle.js'
import type { Precondition } from '../../domain/precondition.js'
import { fail } from '../../errors/problem.js'
import { parseEntityTags } from '../../http/etag.js'
import { toPlainDecimal } from '../../language/literals-number.js'
import { type EdmType, entity, scalar } from '../../model/model.js'
import type { Written } from '../../service/writing.js'
import { toGlobalId } from '../schema/global-id.js'
import { type Input, objectType, readFields } from './operation.js'
import { renderObject } from './raw-json.js'
import { type Asking, viewOf } from './root-field.js'

const PROPERTY = entity('Property')

const MOVES: ReadonlyMap<string, Transition> = new Map(TRANSITIONS.map(t => [t.name, t]))

/**
 * Does what a field of Mutation says, in a transaction of its own, and answers with the record as it then is.
 */
export async function mutate(name: string, asking: Asking): Promise<string> {
  const { port, context, args } = asking
  if (name === 'deleteProperty') return remove(asking)
  const view = viewOf(PROPERTY, asking)
  if (name === 'createDraft')
    return jsonOf(port.writing.create(readInput(inputIn(args)), context.actor, view))
  return jsonOf(
    port.writing.change(keyIn(args), readChange(name, args), context.actor, readCondition(args), view),
  )
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
  return {
    ifMatch:
      parseEntityTags(ifMatch) ??
      fail({ kind: 'BadOptionValue', option: 'ifMatch', expected: 'the etag of a record', found: ifMatch }),
  }
}

/** Types whose scalars give digits as text. */
const DIGITS: ReadonlySet<EdmType> = new Set(['Decimal', 'Int64'])

/**
 * A PropertyInput, as graphql-js has coerced it, in the form of a JSON body: numbers with all their digits, a
 * position as GeoJSON.
 */
export function readInput(input: Input): JsonObject {
  return Object.fromEntries(
    Object.entries(input).map(([name, value]) => [name, toJson(value, scalar(PROPERTY, name).type)]),
  )
}

function toJson(value: unknown, type: EdmType): JsonValue {
  if (typeof value === 'number') return new JsonNumber(String(value))
  if (typeof value === 'string' && DIGITS.has(type)) return new JsonNumber(toPlainDecimal(value) ?? value)
  return value as JsonValue // texts, Booleans, null, lists of texts, and points, which the scalar gives as JSON
}
