import type { Entity } from '../../model/model.js'
import type { Query } from '../../query/ast.js'
import { memoize } from '../../query/memoize.js'
import type { ConnectionArguments } from '../../service/connection-arguments.js'
import { DIGEST_FIELD_NAME } from '../schema/digest-types.js'
import { readGlobalId } from '../schema/global-id.js'
import { coerceArgumentValues } from './argument-values.js'
import { resolveChanges } from './changes.js'
import type { CollectedField, SelectionContext } from './collect-fields.js'
import { resolveDigest } from './digest.js'
import { resolveMutationField } from './mutations.js'
import { readPaginationArguments, readQueryArguments } from './query-arguments.js'
import { type ConnectionSelection, readConnectionSelection } from './relay-connection.js'
import {
  cachedQueryOf,
  type RootFieldContext,
  type RootFieldInfo,
  type ServicePort,
  toReadRequest,
} from './root-field.js'
import { GRAPHQL_REPRESENTATION } from './selection.js'

/**
 * Resolves a root field to JSON in the requested shape with one query and one plan. No fields below it are
 * resolved.
 */
export function resolveRootField(rootField: RootFieldInfo): Promise<string> {
  const { port, selectionContext, variables, parentType, field, collected } = rootField
  const rootFieldContext = {
    ...rootField,
    args: coerceArgumentValues({ ...selectionContext, variables }, collected, field),
  }
  const { rootFields, mutations } = port.model
  const mutation = parentType.name === 'Mutation' ? mutations.get(field.name) : undefined
  if (mutation) return resolveMutationField(mutation, rootFieldContext)
  if (field.name === DIGEST_FIELD_NAME) return resolveDigest(rootFieldContext)
  const target = rootFields.get(field.name)
  if (!target) return resolveNode(rootFieldContext)
  if (target.form === 'changes') return resolveChanges(target.entity, rootFieldContext)
  return target.form === 'one'
    ? resolveRecord(target.entity, String(rootFieldContext.args[target.entity.key.name]), rootFieldContext)
    : resolveConnection(target.entity, rootFieldContext)
}

/** Memoized by the operation plan's field, like `readRequestOf`. */
const connectionSelectionOf = memoize(function connectionSelectionOf(
  collected: CollectedField,
  selectionContext: SelectionContext,
  port: ServicePort,
  of: Entity,
) {
  return readConnectionSelection(selectionContext, port, of, collected.fieldNodes)
})

/** Returns null for a record that does not exist or that the actor cannot see. */
async function resolveRecord(of: Entity, key: string, rootField: RootFieldContext): Promise<string> {
  const { port, context } = rootField
  const request = { ...toReadRequest(of, rootField), serviceRoot: context.serviceRoot }
  const record = await port.reading.forRequest(context.scope).get(of, key, request, context.actor)
  return record?.json ?? 'null'
}

async function resolveNode(rootField: RootFieldContext): Promise<string> {
  const resolved = readGlobalId(String(rootField.args['id']), rootField.port.model.entityOfType)
  return resolved ? resolveRecord(resolved.of, resolved.key, rootField) : 'null'
}

async function resolveConnection(
  of: Entity,
  { collected, selectionContext, port, context, args }: RootFieldContext,
): Promise<string> {
  const selection = connectionSelectionOf(collected, selectionContext, port, of)
  const pagination = readPaginationArguments(args)
  const query = cachedQueryOf(port.plans, collected, args, () =>
    toPageQuery(readQueryArguments(port, of, args), selection, pagination),
  )
  const window = await port.reading
    .forRequest(context.scope)
    .findWindow(
      of,
      { query, representation: GRAPHQL_REPRESENTATION, serviceRoot: context.serviceRoot },
      context.actor,
      pagination,
      selection.requested,
    )
  return selection.render(window)
}

function toPageQuery(
  filtered: Query,
  { query, includesTotalCount, requested }: ConnectionSelection,
  { first, last }: ConnectionArguments,
): Query {
  const top = requested.records ? (first ?? last) : 0
  return { ...filtered, ...query, count: includesTotalCount, ...(top !== undefined && { top }) }
}
