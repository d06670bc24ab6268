import { JsonNumber, type JsonObject, type JsonValue } from '../../domain/json.js'
import { TRANSITIONS, type Transition } from '../../domain/lifecycle.js'
import type { Precondition } from '../../domain/precondition.js'
import { fail } from '../../errors/problem.js'
import { parseEntityTags } from '../../http/etag.js'
import { toPlainDecimal } from '../../language/literals-number.js'
import { type EdmType, getEntity, getScalar } from '../../model/model.js'
import type { WriteResult } from '../../service/writing.js'
import { toGlobalId } from '../schema/global-id.js'
import { collectFields, getObjectType, type InputValues } from './collect-fields.js'
import { renderRawObject } from './raw-json.js'
import { type RootFieldContext, viewOf } from './root-field.js'

const PROPERTY = getEntity('Property')

const TRANSITIONS_BY_NAME: ReadonlyMap<string, Transition> = new Map(TRANSITIONS.map(t => [t.name, t]))

/**
 * Does what a field of Mutation says, in a transaction of its own, and answers with the record as it then is.
 */
export async function resolveMutationField(name: string, rootField: RootFieldContext): Promise<string> {
  const { port, context, args } = rootField
  if (name === 'deleteProperty') return deleteProperty(rootField)
  const view = viewOf(PROPERTY, rootField)
  if (name === 'createDraft')
    return writtenJsonOf(port.writing.create(readPropertyInput(inputArgumentOf(args)), context.actor, view))
  return writtenJsonOf(
    port.writing.update(
      listingKeyOf(args),
      readChangeInput(name, args),
      context.actor,
      readPrecondition(args),
      view,
    ),
  )
}

/** A transition is an update that asks for its status, with the fields that it may need. */
function readChangeInput(name: string, args: InputValues) {
  const transition = TRANSITIONS_BY_NAME.get(name)
  if (!transition) return readPropertyInput(inputArgumentOf(args))
  const { ListingKey: _, ifMatch: __, ...fields } = args
  return { ...readPropertyInput(fields), StandardStatus: transition.to }
}

async function deleteProperty({
  port,
  selectionContext,
  context,
  args,
  collected: { fieldNodes },
}: RootFieldContext): Promise<string> {
  const key = listingKeyOf(args)
  const fields = collectFields(
    selectionContext,
    getObjectType(selectionContext, 'DeletedProperty'),
    fieldNodes,
  )
  await port.writing.remove(key, context.actor, readPrecondition(args))
  const values = new Map([
    ['id', toGlobalId({ of: PROPERTY, key })],
    ['ListingKey', key],
    ['__typename', 'DeletedProperty'],
  ])
  return renderRawObject(
    fields.map(collected => [collected.responseName, JSON.stringify(values.get(collected.name))]),
  )
}

const writtenJsonOf = async (written: Promise<WriteResult>): Promise<string> => (await written).json

const listingKeyOf = (args: InputValues): string => String(args['ListingKey'])

/** The schema makes it required, and an object. */
const inputArgumentOf = (args: InputValues): InputValues => args['input'] as InputValues

function readPrecondition({ ifMatch }: InputValues): Precondition {
  if (typeof ifMatch !== 'string') return {}
  return {
    ifMatch:
      parseEntityTags(ifMatch) ??
      fail({ kind: 'BadOptionValue', option: 'ifMatch', expected: 'the etag of a record', found: ifMatch }),
  }
}

/** Types whose scalars give digits as text. */
const EXACT_NUMBER_TYPES: ReadonlySet<EdmType> = new Set(['Decimal', 'Int64'])

/**
 * A PropertyInput, as graphql-js has coerced it, in the form of a JSON body: numbers with all their digits, a
 * position as GeoJSON.
 */
export function readPropertyInput(input: InputValues): JsonObject {
  return Object.fromEntries(
    Object.entries(input).map(([name, value]) => [name, toJsonValue(value, getScalar(PROPERTY, name).type)]),
  )
}

function toJsonValue(value: unknown, type: EdmType): JsonValue {
  if (typeof value === 'number') return new JsonNumber(String(value))
  if (typeof value === 'string' && EXACT_NUMBER_TYPES.has(type))
    return new JsonNumber(toPlainDecimal(value) ?? value)
  return value as JsonValue // texts, Booleans, null, lists of texts, and points, which the scalar gives as JSON
}
