import type { GraphQLObjectType } from 'graphql'
import { COMPLEXITY_UNITS } from '../../errors/phrases.js'
import { fail } from '../../errors/problem.js'
import { type Entity, getEntity, type Navigation } from '../../model/model.js'
import type { ControlInformation, ExpandAst, Query, SelectAst } from '../../query/ast.js'
import { MAX_NAME_BYTES } from '../../query/limits.js'
import type { Representation } from '../../query/representation.js'
import { coerceArgumentValues } from './argument-values.js'
import { type CollectedField, collectFields, getObjectType, type SelectionContext } from './collect-fields.js'
import type { FilterParseOptions } from './filter.js'
import { readNestedQueryArguments } from './query-arguments.js'

/**
 * The representation of records in GraphQL. Numbers are exact JSON numbers, as in OData. Control information
 * is selected by name.
 */
export const GRAPHQL_REPRESENTATION: Representation = { reference: '', countSuffix: '', numbersAsText: false }

/** Fields of an object type that are not fields of the model. */
const CONTROL_INFORMATION_BY_FIELD_NAME: ReadonlyMap<string, ControlInformation['kind']> = new Map([
  ['__typename', 'type'],
  ['id', 'id'],
  ['etag', 'etag'],
])

/**
 * Converts the selection on an entity's records to a query. Members have the response names with `prefix`
 * before them.
 */
export function readSelection(
  selectionContext: SelectionContext,
  parseOptions: FilterParseOptions,
  of: Entity,
  fieldNodes: CollectedField['fieldNodes'],
  prefix = '',
): Query {
  const select: SelectAst[] = []
  const expand: ExpandAst[] = []
  const controlInformation: ControlInformation[] = []
  const type = getObjectType(selectionContext, of.typeName)
  const fields = collectFields(selectionContext, type, fieldNodes)
  for (const collected of fields) {
    const { name } = collected
    const as = checkNameLength(prefix + collected.responseName)
    const at = { source: name }
    const kind = CONTROL_INFORMATION_BY_FIELD_NAME.get(name)
    const field = of.fields.get(name)
    if (kind) controlInformation.push({ kind, as })
    else if (field?.kind === 'navigation') {
      const query = readNestedSelection(selectionContext, parseOptions, field, collected, type)
      expand.push({ name, as, form: 'records', at, query })
    } else select.push({ name, as, at })
  }
  const memberOrder = fields.map(({ responseName }) => prefix + responseName)
  return { select, expand, controlInformation, memberOrder }
}

/** Converts a navigation with its arguments and selection to a query. */
function readNestedSelection(
  selectionContext: SelectionContext,
  parseOptions: FilterParseOptions,
  { name, target }: Navigation,
  collected: CollectedField,
  type: GraphQLObjectType,
): Query {
  const entity = getEntity(target)
  const definition = type.getFields()[name]
  const nestedArguments = definition
    ? readNestedQueryArguments(
        parseOptions,
        entity,
        coerceArgumentValues(selectionContext, collected, definition),
      )
    : {}
  return {
    ...nestedArguments,
    ...readSelection(selectionContext, parseOptions, entity, collected.fieldNodes),
  }
}

/** Response names are column names, which PostgreSQL would silently truncate. */
function checkNameLength(name: string): string {
  if (Buffer.byteLength(name) > MAX_NAME_BYTES)
    fail({
      kind: 'QueryTooComplex',
      what: COMPLEXITY_UNITS.nameBytes,
      limit: MAX_NAME_BYTES,
      at: { source: name.slice(0, MAX_NAME_BYTES) },
    })
  return name
}
