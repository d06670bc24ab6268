import { GraphQLError, GraphQLScalarType, Kind, type ValueNode } from 'graphql'
import { JsonNumber, type JsonValue, renderJson } from '../../domain/json.js'
import { toFailure } from '../../errors/catalog.js'
import type { Phrase } from '../../errors/phrase.js'
import { HINTS } from '../../errors/phrases.js'
import { fail, ProblemError } from '../../errors/problem.js'
import { DATE_TIME_LITERAL_HINTS } from '../../language/literals.js'
import {
  type DateTimeLiteralError,
  readDateLiteral,
  readDateTimeOffsetLiteral,
  readTimeOfDayLiteral,
} from '../../language/literals-datetime.js'
import { isNumber, readNumberLiteral } from '../../language/literals-number.js'
import { toDurationSeconds } from '../../query/duration.js'
import { isGeoJsonPoint, isGeoJsonPolygon } from './geojson.js'

type VariableValues = { readonly [name: string]: unknown }

/**
 * A scalar of the schema. `coerceInput` returns the value for readers of arguments, or fails with BadLiteral.
 */
interface ScalarDefinition {
  readonly name: string
  readonly description: string
  readonly specifiedBy?: string
  readonly coerceInput: (json: JsonValue, type: string) => JsonValue
}

const RFC_3339 = 'https://www.rfc-editor.org/rfc/rfc3339#section-5.6'
const RFC_7946 = 'https://www.rfc-editor.org/rfc/rfc7946#section-3.1'

/** The custom scalars. Numbers are read as text with their original digits, so that no digit is lost. */
export const SCALAR_DEFINITIONS: readonly ScalarDefinition[] = [
  {
    name: 'Decimal',
    description:
      'An exact decimal number. It is written as a number with all its digits, and read from a string or a number.',
    coerceInput: (json, type) => readNumberText(json, type, isNumber),
  },
  {
    name: 'Long',
    description:
      'A 64-bit integer. It is written as a number with all its digits, and read from a string or a number.',
    coerceInput: (json, type) =>
      readNumberText(json, type, text => /^Int/.test(readNumberLiteral(text)?.type ?? '')),
  },
  {
    name: 'DateTime',
    description:
      'An instant, written in UTC with milliseconds: 2024-05-01T00:00:00.000Z. It is read with any offset.',
    specifiedBy: RFC_3339,
    coerceInput: (json, type) => readTemporal(json, type, readDateTimeOffsetLiteral),
  },
  {
    name: 'Date',
    description: 'A day: 2024-05-01.',
    specifiedBy: RFC_3339,
    coerceInput: (json, type) => readTemporal(json, type, readDateLiteral),
  },
  {
    name: 'TimeOfDay',
    description: 'A time of day: 08:30:00.',
    specifiedBy: RFC_3339,
    coerceInput: (json, type) => readTemporal(json, type, readTimeOfDayLiteral),
  },
  {
    name: 'Duration',
    description: 'A duration in days, hours, minutes and seconds: P1DT2H30M.',
    specifiedBy: 'https://www.w3.org/TR/xmlschema11-2/#dayTimeDuration',
    coerceInput: (json, type) =>
      (typeof json === 'string' ? toDurationSeconds(json) : undefined) ??
      failInvalidScalar(type, json, HINTS.duration),
  },
  {
    name: 'GeoPoint',
    description:
      'A position as a GeoJSON Point, with the longitude first: { type: "Point", coordinates: [-105, 39.7] }.',
    specifiedBy: `${RFC_7946}.2`,
    coerceInput: (json, type) =>
      isGeoJsonPoint(json) ? json : failInvalidScalar(type, json, HINTS.geoJsonPoint),
  },
  {
    name: 'GeoPolygon',
    description:
      'An area as a GeoJSON Polygon: rings of positions. The last position of a ring equals the first.',
    specifiedBy: `${RFC_7946}.6`,
    coerceInput: (json, type) =>
      isGeoJsonPolygon(json) ? json : failInvalidScalar(type, json, HINTS.geoJsonPolygon),
  },
]

/**
 * The scalar types by name. Values from the database are already serialized, so `serialize` returns them
 * unchanged.
 */
export const SCALARS: Readonly<Record<string, GraphQLScalarType>> = Object.fromEntries(
  SCALAR_DEFINITIONS.map(row => [row.name, toScalarType(row)]),
)

function toScalarType({ name, description, specifiedBy, coerceInput }: ScalarDefinition): GraphQLScalarType {
  return new GraphQLScalarType({
    name,
    description,
    specifiedByURL: specifiedBy ?? null,
    serialize: value => value,
    parseValue: value =>
      withGraphQLErrors(() =>
        coerceInput(
          isExactNumber(value)
            ? variableToJson(value)
            : failInvalidScalar(name, variableToJson(value), HINTS.longNumberAsString),
          name,
        ),
      ),
    // During validation variables have no values yet, so only literals without variables are checked.
    parseLiteral: (node, variables) =>
      !variables && hasVariable(node)
        ? null
        : withGraphQLErrors(() => coerceInput(literalToJson(node, variables ?? {}), name), node),
  })
}

/** Converts a problem to the error that graphql-js reports, with code and message of the catalog. */
function withGraphQLErrors<T>(read: () => T, node?: ValueNode): T {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof ProblemError)) throw error
    const { code, message, details } = toFailure(error.problems)
    throw new GraphQLError(message, {
      ...(node && { nodes: node }),
      originalError: error,
      extensions: { serviceCode: code, details },
    })
  }
}

const failInvalidScalar = (type: string, json: JsonValue, hint?: Phrase): never =>
  fail({
    kind: 'BadLiteral',
    type,
    text: toDisplayText(json),
    at: { source: type },
    ...(hint !== undefined && { hint }),
  })

const toDisplayText = (json: JsonValue) => (typeof json === 'string' ? json : renderJson(json))

function readNumberText(json: JsonValue, type: string, isValid: (text: string) => boolean): string {
  const text = json instanceof JsonNumber ? json.text : json
  return typeof text === 'string' && isValid(text) ? text : failInvalidScalar(type, json)
}

function readTemporal(
  json: JsonValue,
  type: string,
  read: (text: string) => string | DateTimeLiteralError,
): string {
  const value = typeof json === 'string' ? read(json) : failInvalidScalar(type, json)
  if (typeof value === 'string') return value
  return failInvalidScalar(
    type,
    json,
    value.reason === 'year' ? HINTS.year : DATE_TIME_LITERAL_HINTS[value.reason],
  )
}

/**
 * A double represents every decimal number of 15 digits. With more digits several numbers become one double.
 */
const MAX_EXACT_DOUBLE_DIGITS = 15
/** The smallest number with the full precision of a double. */
const MIN_NORMAL_DOUBLE = 2.2250738585072014e-308

/** Returns true if a double represents the number exactly. `text` is a JSON number. */
export function fitsDouble(text: string): boolean {
  const double = Number(text)
  if (String(double) === text) return true
  const digits = digitsOf(text)
  const isNormal = Number.isFinite(double) && Math.abs(double) >= MIN_NORMAL_DOUBLE
  return digits.length <= MAX_EXACT_DOUBLE_DIGITS && (isNormal || /^0*$/.test(digits))
}

/** The digits of a number without sign, point, exponent and leading zeros. */
const digitsOf = (text: string): string => (text.split(/e/i)[0] ?? '').replace(/^-?0*\.?0*|\./g, '')

const isExactNumber = (value: unknown): boolean =>
  typeof value !== 'number' ||
  Number.isSafeInteger(value) ||
  (Number.isFinite(value) && digitsOf(String(value)).length <= MAX_EXACT_DOUBLE_DIGITS)

/** Converts the value of a variable, which was JSON, and preserves the text of each number. */
function variableToJson(value: unknown): JsonValue {
  if (typeof value === 'number') return new JsonNumber(String(value))
  if (Array.isArray(value)) return value.map(variableToJson)
  if (typeof value !== 'object' || value === null || value instanceof JsonNumber) return value as JsonValue // JSON has no other values
  return toNullPrototypeObject(Object.entries(value).map(([name, member]) => [name, variableToJson(member)]))
}

/** Converts a literal, which may contain variables, and preserves the text of each number. */
function literalToJson(node: ValueNode, variables: VariableValues): JsonValue {
  switch (node.kind) {
    case Kind.INT:
    case Kind.FLOAT:
      return new JsonNumber(node.value)
    case Kind.STRING:
    case Kind.BOOLEAN:
    case Kind.ENUM:
      return node.value
    case Kind.LIST:
      return node.values.map(item => literalToJson(item, variables))
    case Kind.OBJECT:
      return toNullPrototypeObject(
        node.fields.map(({ name, value }) => [name.value, literalToJson(value, variables)]),
      )
    case Kind.VARIABLE:
      return variableToJson(variables[node.name.value] ?? null)
    case Kind.NULL:
      return null
  }
}

/** Without a prototype, so that every member name is safe. */
const toNullPrototypeObject = (members: readonly (readonly [string, JsonValue])[]): JsonValue =>
  Object.assign(Object.create(null), Object.fromEntries(members))

function hasVariable(node: ValueNode): boolean {
  if (node.kind === Kind.LIST) return node.values.some(hasVariable)
  if (node.kind === Kind.OBJECT) return node.fields.some(f => hasVariable(f.value))
  return node.kind === Kind.VARIABLE
}
