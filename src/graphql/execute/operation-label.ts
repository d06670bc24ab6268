import { Kind, type OperationDefinitionNode } from 'graphql'
import type { RequestScope } from '../../domain/request-scope.js'
import { toLoggedName } from '../../http/log.js'

/**
 * Returns the name of an operation in the log. An anonymous operation is named by its type and root fields:
 *   `query Homes { properties { totalCount } }` → `Homes`; `{ properties { totalCount } }` → `query {properties}`
 */
export function toOperationLabel({ name, operation, selectionSet }: OperationDefinitionNode): string {
  if (name) return toLoggedName(name.value)
  const fields = selectionSet.selections.map(selection =>
    selection.kind === Kind.FIELD ? selection.name.value : '…',
  )
  return toLoggedName(`${operation} {${[...new Set(fields)].join(' ')}}`)
}

/** Sets the operation of a request, for its log line and its trace. */
export function describeOperation(scope: RequestScope, operation: OperationDefinitionNode): void {
  scope.description.operation = toOperationLabel(operation)
  scope.stages?.onOperation?.(operation.operation, operation.name && toLoggedName(operation.name.value))
}
