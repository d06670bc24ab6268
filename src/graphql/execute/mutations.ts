import { requireWriteScope } from '../../domain/actor.js'
import { JsonNumber, type JsonObject, type JsonValue } from '../../domain/json.js'
import { TRANSITIONS, type Transition } from '../../domain/lifecycle.js'
import type { Precondition } from '../../domain/write-shape.js'
import { EXPECTED_VALUE } from '../../errors/phrases.js'
import { fail } from '../../errors/problem.js'
import { parseEntityTags } from '../../http/etag.js'
import { toPlainDecimal } from '../../language/literals-number.js'
import { type EdmType, getEntity, getScalar } from '../../model/model.js'
import type { WriteResult } from '../../service/writing.js'
import { toGlobalId } from '../schema/global-id.js'
import { collectFields, getObjectType, type InputValues } from './collect-fields.js'
import { renderRawObject } from './raw-json.js'
import { type RootFieldContext, toReadRequest } from './root-field.js'

const PROPERTY = getEntity('Property')

const TRANSITIONS_BY_NAME: ReadonlyMap<string, Transition> = new Map(TRANSITIONS.map(t => [t.name, t]))

/** Executes a field of Mutation in its own transaction and returns the record after it. */
export async function resolveMutationField(name: string, rootField: RootFieldContext): Promise<string> {
  const { port, context, args } = rootField
  requireWriteScope(context.actor)
  if (name === 'deleteProperty') return deleteProperty(rootField)
  const readRequest = toReadRequest(PROPERTY, rootField)
  const writing = port.writing.forRequest(context.scope)
  if (name === 'createDraft')
    return writtenJsonOf(
      writing.create(async () => readPropertyInput(inputArgumentOf(args)), context.actor, readRequest),
    )
  return writtenJsonOf(
    writing.update(
      listingKeyOf(args),
      async () => readChangeInput(name, args),
      context.actor,
      readPrecondition(args),
      readRequest,
    ),
  )
}

/**
 * Returns the body of an update. A transition is an update with a StandardStatus and the fields it may need.
 */
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
  await port.writing.forRequest(context.scope).remove(key, context.actor, readPrecondition(args))
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

/** required, and an object, by the schema */
const inputArgumentOf = (args: InputValues): InputValues => args['input'] as InputValues

function readPrecondition({ ifMatch }: InputValues): Precondition {
  if (typeof ifMatch !== 'string') return {}
  return {
    ifMatch:
      parseEntityTags(ifMatch) ??
      fail({ kind: 'BadOptionValue', option: 'ifMatch', expected: EXPECTED_VALUE.etag, found: ifMatch }),
  }
}

/** Types whose scalars return digits as text. */
const EXACT_NUMBER_TYPES: ReadonlySet<EdmType> = new Set(['Decimal', 'Int64'])

/**
 * Converts a coerced PropertyInput to a JSON body. Numbers keep all their digits, and a position is GeoJSON.
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
  return value as JsonValue // strings, Booleans, null, lists of strings, and points, which the scalar returns as JSON
}
