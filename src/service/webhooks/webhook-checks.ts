import type { LogRange, WebhookDetails } from '../../data/webhooks/webhook-store.js'
import { type AddressRules, MASK, maskUrl, urlFaults } from '../../domain/webhooks/address.js'
import type { WebhookState } from '../../domain/webhooks/webhook.js'
import { valueFault } from '../../errors/change-error.js'
import type { Problem } from '../../errors/problem.js'
import { startPositionFaults } from './position.js'
import { type SelectionDependencies, selectionFaults } from './selection.js'
import type { NewWebhook, WebhookChange, WebhookValues } from './webhooks.js'

/** The rules of the values of a webhook. */
export interface WebhookRules extends SelectionDependencies {
  readonly rules: AddressRules
}

/** Returns the faults of a new webhook. */
export function newWebhookFaults(
  values: NewWebhook,
  range: LogRange,
  dependencies: WebhookRules,
): readonly Problem[] {
  const { resourceName, filter, from, state = 'active' } = values
  return [
    ...valueFaults(values, dependencies.rules),
    ...selectionFaults(
      { resourceName: resourceName ?? undefined, filter: filter ?? undefined },
      dependencies,
    ),
    ...startPositionFaults(range, from),
    ...stateFaults(state),
  ]
}

/** Returns the faults of a change. */
export function webhookChangeFaults(
  values: WebhookChange,
  webhook: WebhookDetails,
  range: LogRange,
  { rules }: WebhookRules,
): readonly Problem[] {
  const { clientId, resourceName, filter, from, state } = values
  return [
    ...fixedFaults('ClientId', clientId, webhook.ClientId),
    ...fixedFaults('ResourceName', resourceName, webhook.ResourceName),
    ...fixedFaults('Filter', filter, webhook.Filter),
    ...valueFaults(values, rules),
    ...startPositionFaults(range, from),
    ...(state === webhook.State ? [] : stateFaults(state)),
    ...(state === 'paused' && from !== undefined
      ? [valueFault('From', 'The position can be set only when the webhook becomes active.')]
      : []),
  ]
}

/** A field that cannot be changed may be repeated. */
const fixedFaults = (
  field: string,
  value: string | null | undefined,
  stored: string | null,
): readonly Problem[] => (value === undefined || value === stored ? [] : [{ kind: 'NotWritable', field }])

const stateFaults = (state: WebhookState | undefined): readonly Problem[] =>
  state === undefined || state === 'active' || state === 'paused'
    ? []
    : [valueFault('State', 'The state can be changed to Active or Paused.')]

function valueFaults({ url, source, token }: WebhookValues, rules: AddressRules): readonly Problem[] {
  return [
    ...(url === undefined ? [] : urlFaults(url, rules)),
    ...(typeof source !== 'string' || /^[\x20-\x7e]{1,255}$/.test(source)
      ? []
      : [valueFault('Source', 'The source must be printable ASCII of at most 255 characters.')]),
    ...(typeof token !== 'string' || /^[\x21-\x7e]{1,4000}$/.test(token)
      ? []
      : [valueFault('Token', 'A bearer token is printable ASCII without spaces, at most 4000 characters.')]),
  ]
}

/** Leaves out the values that responses show in place of a URL and a token. They change nothing. */
export function withoutMasked(values: WebhookChange, webhook: WebhookDetails): WebhookChange {
  const { url, token, ...others } = values
  return {
    ...others,
    ...(url !== undefined && url !== maskUrl(webhook.Url) && { url }),
    ...(!(token === MASK && webhook.HasToken) && { token }),
  }
}
