import { requireWriteScope } from '../../domain/actor.js'
import { JsonNumber, type JsonObject, type JsonValue } from '../../domain/json.js'
import type { Precondition } from '../../domain/write-shape.js'
import { EXPECTED_VALUE } from '../../errors/phrases.js'
import { fail } from '../../errors/problem.js'
import { parseEntityTags } from '../../http/etag.js'
import { toPlainDecimal } from '../../language/literals-number.js'
import { type EdmType, type Entity, getScalar } from '../../model/model.js'
import { type RecordWriter, writerFor } from '../../service/admin/record-writer.js'
import { toGlobalId } from '../schema/global-id.js'
import { deletedTypeNameOf, type MutationField } from '../schema/mutation-fields.js'
import { collectFields, getObjectType, type InputValues } from './collect-fields.js'
import { renderRawObject } from './raw-json.js'
import { type RootFieldContext, toReadRequest } from './root-field.js'

/** Executes a field of Mutation in its own transaction and returns the record after it. */
export async function resolveMutationField(
  { entity, kind, transition }: MutationField,
  rootField: RootFieldContext,
): Promise<string> {
  const { port, context, args } = rootField
  requireWriteScope(context.actor, entity)
  const writer = writerFor(entity, port, context.scope)
  if (kind === 'delete') return deleteRecord(entity, writer, rootField)
  const readRequest = toReadRequest(entity, rootField)
  const { json } =
    kind === 'create'
      ? await writer.create(async () => readInput(entity, args), context.actor, readRequest)
      : await writer.update(
          keyOf(entity, args),
          async () => (transition ? readTransition(entity, transition.to, args) : readInput(entity, args)),
          context.actor,
          readPrecondition(args),
          readRequest,
        )
  return json
}

/** Returns the body of a transition: its StandardStatus and the fields it may need. */
function readTransition(of: Entity, StandardStatus: string, args: InputValues): JsonObject {
  const { [of.key.name]: _, ifMatch: __, ...fields } = args
  return { ...readRecordInput(of, fields), StandardStatus }
}

async function deleteRecord(
  of: Entity,
  writer: RecordWriter,
  { selectionContext, context, args, collected: { fieldNodes } }: RootFieldContext,
): Promise<string> {
  const key = keyOf(of, args)
  const type = deletedTypeNameOf(of)
  const fields = collectFields(selectionContext, getObjectType(selectionContext, type), fieldNodes)
  await writer.remove(key, context.actor, readPrecondition(args))
  const values = new Map([
    ['id', JSON.stringify(toGlobalId({ of, key }))],
    [of.key.name, of.key.type === 'Int64' ? key : JSON.stringify(key)],
    ['__typename', JSON.stringify(type)],
  ])
  return renderRawObject(fields.map(({ responseName, name }) => [responseName, values.get(name) ?? 'null']))
}

const keyOf = ({ key }: Entity, args: InputValues): string => String(args[key.name])

/** The argument is required, and an object, by the schema. */
const readInput = (of: Entity, args: InputValues): JsonObject =>
  readRecordInput(of, args['input'] as InputValues)

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
 * Converts a coerced input of a record to a JSON body. Numbers keep all their digits, and a position is
 * GeoJSON.
 */
export function readRecordInput(of: Entity, input: InputValues): JsonObject {
  return Object.fromEntries(
    Object.entries(input).map(([name, value]) => [name, toJsonValue(value, getScalar(of, name).type)]),
  )
}

function toJsonValue(value: unknown, type: EdmType): JsonValue {
  if (typeof value === 'number') return new JsonNumber(String(value))
  if (typeof value === 'string' && EXACT_NUMBER_TYPES.has(type))
    return new JsonNumber(toPlainDecimal(value) ?? value)
  return value as JsonValue // strings, Booleans, null, lists of strings, and points, which the scalar returns as JSON
}
