import { type GraphQLOutputType, isListType, isNonNullType, isObjectType } from 'graphql'
import {
  type CollectedField,
  collectFields,
  type InputValues,
  type SelectionContext,
} from './collect-fields.js'
import { renderRawList, renderRawObject } from './raw-json.js'

/** Renders the selected fields of a value of the service, whose members have the names of the fields. */
export function renderSelection(
  selectionContext: SelectionContext,
  type: GraphQLOutputType,
  fieldNodes: CollectedField['fieldNodes'],
  value: unknown,
): string {
  if (isNonNullType(type)) return renderSelection(selectionContext, type.ofType, fieldNodes, value)
  if (isListType(type) && Array.isArray(value))
    return renderRawList(value.map(item => renderSelection(selectionContext, type.ofType, fieldNodes, item)))
  if (!isObjectType(type)) return JSON.stringify(value)
  const members = value as InputValues // an object, by the schema
  const fields = type.getFields()
  return renderRawObject(
    collectFields(selectionContext, type, fieldNodes).map(({ responseName, name, fieldNodes: nodes }) => {
      const field = fields[name]
      const json = field
        ? renderSelection(selectionContext, field.type, nodes, members[name])
        : JSON.stringify(type.name) // __typename
      return [responseName, json]
    }),
  )
}
