import {
  GraphQLError,
  type GraphQLInputObjectType,
  type GraphQLInputType,
  type GraphQLLeafType,
  type GraphQLSchema,
  getVariableValues,
  isInputObjectType,
  isInputType,
  isListType,
  isNonNullType,
  isRequiredInputField,
  type OperationDefinitionNode,
  typeFromAST,
  valueFromAST,
} from 'graphql'
import { remember } from '../../query/memoize.js'
import type { Input } from './operation.js'

/**
 * The variables of an operation as `getVariableValues` of graphql-js makes them, which for each object goes
 * through all fields of its type: 140 in a filter of listings, a tenth of the cost of a list. Here only what
 * was sent is looked at, in the same order. What is wrong is left to graphql-js to say: undefined stands for
 * variables with a fault, or that ask for more than this function knows.
 */
export function coerceVariables(
  schema: GraphQLSchema,
  operation: OperationDefinitionNode,
  sent: Input,
): Input | undefined {
  try {
    return Object.fromEntries(
      declaredIn(schema, operation).flatMap(declared => coerceDeclared(declared, sent)),
    )
  } catch {
    return undefined
  }
}

/** Ends the way of this file: that of graphql-js is taken from the beginning. */
function refuse(): never {
  throw new Error('Left to graphql-js')
}

/**
 * A value that was sent, as its type takes it. Throws what it will: `refuse`, and scalars their own errors.
 */
type Coerce = (sent: unknown) => unknown

/**
 * A variable that an operation declares. `initial`: the value that it has where none is sent; undefined: it
 * is absent then.
 */
interface Declared {
  readonly name: string
  readonly isRequired: boolean
  readonly coerce: Coerce
  readonly initial: unknown
}

const declaredIn = remember(
  (schema: GraphQLSchema, { variableDefinitions = [] }: OperationDefinitionNode): readonly Declared[] =>
    variableDefinitions.map(({ variable, type: node, defaultValue }) => {
      const type = typeFromAST(schema, node)
      if (!isInputType(type)) return refuse()
      return {
        name: variable.name.value,
        isRequired: isNonNullType(type),
        coerce: toCoerce(type),
        initial: defaultValue && valueFromAST(defaultValue, type),
      }
    }),
)

function coerceDeclared(
  { name, isRequired, coerce, initial }: Declared,
  sent: Input,
): readonly (readonly [name: string, value: unknown])[] {
  if (Object.hasOwn(sent, name)) return [[name, coerce(sent[name])]]
  if (initial !== undefined) return [[name, initial]]
  return isRequired ? refuse() : []
}

/** Made once for each type: a request then asks of no type what it is. */
const toCoerce = remember((type: GraphQLInputType): Coerce => {
  if (isNonNullType(type)) return toRequired(toCoerce(type.ofType))
  if (isListType(type)) return toNullable(toList(toCoerce(type.ofType)))
  return toNullable(isInputObjectType(type) ? toObject(type) : toLeaf(type))
})

const toRequired =
  (coerce: Coerce): Coerce =>
  sent =>
    sent === null ? refuse() : coerce(sent)

const toNullable =
  (coerce: Coerce): Coerce =>
  sent =>
    sent === null ? null : coerce(sent)

/** What is no list is one of one item. */
const toList =
  (coerce: Coerce): Coerce =>
  sent =>
    Array.isArray(sent) ? sent.map(coerce) : [coerce(sent)]

const toLeaf =
  (type: GraphQLLeafType): Coerce =>
  sent =>
    type.parseValue(sent) ?? refuse()

/** A field of an input type, and its place among the others. */
interface Field {
  readonly place: number
  readonly coerce: Coerce
}

/**
 * The order of conditions is that of the schema: the same question becomes the same statement, however its
 * filter was written.
 */
function toObject(type: GraphQLInputObjectType): Coerce {
  // Types lead back to themselves: what is made of their fields is made when there is a value.
  let known: { readonly fields: ReadonlyMap<string, Field>; readonly standing: readonly string[] } | undefined
  return sent => {
    if (typeof sent !== 'object' || sent === null || Array.isArray(sent) || type.isOneOf) return refuse()
    known ??= { fields: fieldsOf(type), standing: standingIn(type) }
    const { fields, standing } = known
    for (const name of standing) if (!Object.hasOwn(sent, name)) refuse()
    const members = Object.entries(sent)
    if (members.length > 1) members.sort(([a], [b]) => fieldIn(fields, a).place - fieldIn(fields, b).place)
    const coerced: Record<string, unknown> = {} // no field of a schema is called __proto__
    for (const [name, value] of members) coerced[name] = fieldIn(fields, name).coerce(value)
    return coerced
  }
}

const fieldIn = (fields: ReadonlyMap<string, Field>, name: string): Field => fields.get(name) ?? refuse()

const fieldsOf = (type: GraphQLInputObjectType): ReadonlyMap<string, Field> =>
  new Map(
    Object.values(type.getFields()).map(({ name, type: of }, place) => [
      name,
      { place, coerce: toCoerce(of) },
    ]),
  )

/** Fields that objects are not without: they are required, or have a default. */
const standingIn = (type: GraphQLInputObjectType): readonly string[] =>
  Object.values(type.getFields())
    .filter(field => isRequiredInputField(field) || field.defaultValue !== undefined)
    .map(({ name }) => name)

const FAULTS_MAX = 20

/**
 * The variables of an operation as the schema takes them, or what is wrong with those that were sent. One
 * without a value is absent.
 */
export function readVariables(schema: GraphQLSchema, operation: OperationDefinitionNode, sent: Input) {
  const known = coerceVariables(schema, operation, sent)
  if (known) return { coerced: known }
  const { coerced, errors } = getVariableValues(schema, operation.variableDefinitions ?? [], sent, {
    maxErrors: FAULTS_MAX,
  })
  return errors ? { errors: errors.map(toVariableError) } : { coerced }
}

/**
 * graphql-js repeats the value as a whole, for each of its faults: 0.5 MB with 20 of them made an answer of
 * 10 MB.
 */
const VARIABLE_MESSAGE_MAX = 1000

/** Its beginning says which variable, its end what is wrong. */
const shorten = (message: string): string =>
  message.length > VARIABLE_MESSAGE_MAX
    ? `${message.slice(0, VARIABLE_MESSAGE_MAX / 2)} ... ${message.slice(-VARIABLE_MESSAGE_MAX / 2)}`
    : message

const toVariableError = ({ message, nodes }: GraphQLError) =>
  new GraphQLError(shorten(message), {
    ...(nodes && { nodes }),
    extensions: { code: 'BAD_USER_INPUT', http: { status: 400 } },
  })
