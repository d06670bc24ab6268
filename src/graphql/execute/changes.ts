import type { Entity } from '../../model/model.js'
import type { Query } from '../../query/ast.js'
import { memoize } from '../../query/memoize.js'
import type { Change } from '../../service/delta-reader.js'
import type { DeltaPage } from '../../service/deltas.js'
import { toGlobalId } from '../schema/global-id.js'
import { deltaTypeNameOf } from '../schema/names.js'
import {
  type CollectedField,
  collectFields,
  getObjectType,
  type InputValues,
  type SelectionContext,
} from './collect-fields.js'
import { readPaginationArguments, readQueryArguments } from './query-arguments.js'
import { renderRawList, renderRawObject } from './raw-json.js'
import { renderSelection } from './render-selection.js'
import { cachedQueryOf, type RootFieldContext, type ServicePort } from './root-field.js'
import { GRAPHQL_REPRESENTATION } from './selection.js'
import { readSharedSelection } from './shared-selection.js'

/** Resolves the changes of an entity to JSON in the requested shape. */
export async function resolveChanges(of: Entity, rootField: RootFieldContext): Promise<string> {
  const { collected, selectionContext, port, context, args } = rootField
  const selection = changesSelectionOf(collected, selectionContext, port, of)
  const query = cachedQueryOf(port.plans, collected, args, () => ({
    ...readQueryArguments(port, of, args),
    ...selection.query,
  }))
  return selection.render(await readChanges(of, query, rootField, port.deltas.forRequest(context.scope)))
}

/** Reads the changes after `since`. Without a token it reads no changes and returns the current token. */
async function readChanges(
  of: Entity,
  query: Query,
  { args, context }: RootFieldContext,
  deltas: ServicePort['deltas'],
): Promise<DeltaPage> {
  const { since } = args
  const { first } = readPaginationArguments(args)
  const request = { query, representation: GRAPHQL_REPRESENTATION, ...(first !== undefined && { first }) }
  return typeof since === 'string'
    ? deltas.findChanges(of, { ...request, token: since, option: 'since', anyView: true }, context.actor)
    : deltas.latestPage(of, request, context.actor)
}

/** The selected parts of a page of changes. */
interface ChangesSelection {
  /** The query for the fields of the records. */
  readonly query: Query
  /** Renders the response as JSON. */
  render(page: DeltaPage): string
}

/** Memoized by the operation plan's field. `records` can occur several times with different fields. */
const changesSelectionOf = memoize(function changesSelectionOf(
  collected: CollectedField,
  selectionContext: SelectionContext,
  port: ServicePort,
  of: Entity,
): ChangesSelection {
  const type = getObjectType(selectionContext, deltaTypeNameOf(of))
  const fields = collectFields(selectionContext, type, collected.fieldNodes)
  const recordFields = fields.filter(({ name }) => name === 'records')
  const selections = recordFields.map(({ fieldNodes }) => fieldNodes)
  const { query, split } = readSharedSelection(selectionContext, port, of, selections)
  return {
    query,
    render: page => {
      const members = toMembers(of, page)
      const records = page.changes.flatMap(change => (change.kind === 'changed' ? [split(change.json)] : []))
      return renderRawObject(
        fields.map(selected => {
          const { responseName, name, fieldNodes } = selected
          const index = recordFields.indexOf(selected)
          if (index >= 0) return [responseName, renderRawList(records.map(parts => parts[index] ?? 'null'))]
          const definition = type.getFields()[name]
          return [
            responseName,
            definition
              ? renderSelection(selectionContext, definition.type, fieldNodes, members[name])
              : JSON.stringify(type.name), // __typename
          ]
        }),
      )
    },
  }
})

/** The members of a page except its records. */
const toMembers = (of: Entity, { changes, nextToken, deltaToken }: DeltaPage): InputValues => ({
  removed: changes.flatMap(change => (change.kind === 'removed' ? [toRemovedRecord(of, change)] : [])),
  hasNextPage: nextToken !== undefined,
  token: nextToken ?? deltaToken,
})

const toRemovedRecord = (of: Entity, { key, reason }: Change & { readonly kind: 'removed' }) => ({
  id: toGlobalId({ of, key }),
  key,
  reason: reason.toUpperCase(),
})
