import { makeExecutableSchema } from '@graphql-tools/schema'
import {
  type DocumentNode,
  type GraphQLSchema,
  getArgumentValues,
  getVariableValues,
  Kind,
  parse,
  validate,
} from 'graphql'
import type { InputValues } from '../../../src/graphql/execute/collect-fields.js'
import { readFilter } from '../../../src/graphql/execute/filter.js'
import { filterInputNameOf, rootFieldNamesOf } from '../../../src/graphql/schema/names.js'
import { SCALARS } from '../../../src/graphql/schema/scalars.js'
import { createSchemaModel } from '../../../src/graphql/schema/schema-model.js'
import { renderSdl } from '../../../src/graphql/schema/sdl.js'
import { DEFAULT_PARSE_LIMITS } from '../../../src/language/parse-limits.js'
import { parseFilter } from '../../../src/language/parser.js'
import { type Entity, LISTING_MODEL } from '../../../src/model/model.js'
import type { Ast } from '../../../src/query/ast.js'
import { bindCondition } from '../../../src/query/bind/expression.js'
import { Scope } from '../../../src/query/bind/scope.js'
import type { Expr } from '../../../src/query/plan.js'

/** The model of the schema of the listings. */
export const LISTING_SCHEMA = createSchemaModel(LISTING_MODEL)

/** The options of filters of listings, with the default limits. */
export const PARSE_OPTIONS = { model: LISTING_SCHEMA, limits: DEFAULT_PARSE_LIMITS }

/** The schema as the service has it, without resolvers but those of the scalars. */
export const SCHEMA: GraphQLSchema = makeExecutableSchema({
  typeDefs: renderSdl(LISTING_SCHEMA),
  resolvers: { ...SCALARS },
})

/**
 * The arguments of the first field of a document, coerced as an execution does it. Throws what validation or
 * coercion finds.
 */
export function coerceArguments(text: string, variables: InputValues = {}): InputValues {
  const document = parse(text)
  const [fault] = validate(SCHEMA, document)
  if (fault) throw fault
  const { field, definition, operation } = firstField(document)
  const { coerced, errors = [] } = getVariableValues(SCHEMA, operation.variableDefinitions ?? [], {
    ...variables,
  })
  if (errors[0]) throw errors[0]
  return getArgumentValues(definition, field, coerced)
}

function firstField(document: DocumentNode) {
  const [operation] = document.definitions
  if (operation?.kind !== Kind.OPERATION_DEFINITION) throw new Error('No operation')
  const [field] = operation.selectionSet.selections
  const root = SCHEMA.getRootType(operation.operation)
  const definition = field?.kind === Kind.FIELD ? root?.getFields()[field.name.value] : undefined
  if (field?.kind !== Kind.FIELD || !definition) throw new Error('No field')
  return { operation, field, definition }
}

/** Coerces a filter in a document, as an argument of the connection of the entity. */
export const coerceLiteral = (of: Entity, filter: string): InputValues =>
  coerceArguments(`{ ${rootFieldNamesOf(of).many}(filter: ${filter}) { totalCount } }`)[
    'filter'
  ] as InputValues // by its type

/** A filter that is the value of a variable, as it comes through JSON. */
export function coerceVariable(of: Entity, filter: unknown): InputValues {
  const text = `query($filter: ${filterInputNameOf(of)}) { ${rootFieldNamesOf(of).many}(filter: $filter) { totalCount } }`
  return coerceArguments(text, { filter: JSON.parse(JSON.stringify(filter)) })['filter'] as InputValues // by its type
}

const bindFilter = (of: Entity, ast: Ast | undefined): Expr | undefined =>
  ast && bindCondition(ast, Scope.root(of))

/** Binds a coerced filter. Returns undefined if it has no condition. */
export const bindFilterInput = (of: Entity, filter: InputValues): Expr | undefined =>
  bindFilter(of, readFilter(of, filter, PARSE_OPTIONS))

/** Binds a filter of OData. */
export const bindFilterText = (of: Entity, text: string): Expr | undefined =>
  bindFilter(of, parseFilter(text, { limits: DEFAULT_PARSE_LIMITS, aliases: new Map() }))
