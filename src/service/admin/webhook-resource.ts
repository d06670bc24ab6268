import type { FieldValue, Values } from '../../domain/values.js'
import type { WebhookState } from '../../domain/webhooks/webhook.js'
import { checkPrecondition } from '../../domain/write-shape.js'
import { refuseFaults } from '../../errors/change-error.js'
import { LIMITS } from '../../errors/phrases.js'
import {
  DEFAULT_OVERLAP_HOURS,
  MAX_OVERLAP_HOURS,
  type WebhookChange,
  WebhookService,
} from '../webhooks/webhooks.js'
import type { AdminChange, AdminResource } from './resource.js'

const serviceOf = ({ database, writer, webhooks }: AdminChange): WebhookService =>
  new WebhookService({ ...webhooks, database, actor: writer })

/** Webhooks. The secret of a new webhook is in the response to its creation. */
export const WEBHOOK_RESOURCE: AdminResource = {
  create: async (values, change) => {
    const { webhook, secret } = await serviceOf(change).add(
      { clientId: '', url: '', ...toWebhookChange(values) },
      change.conditions,
    )
    return { key: webhook.WebhookId, secret }
  },
  update: (key, values, change) => serviceOf(change).change(key, toWebhookChange(values), change.conditions),
  remove: (key, change) => serviceOf(change).remove(key, change.conditions),
}

/** Secrets of webhooks. A second secret begins a rotation, and the deletion of the older one ends it. */
export const WEBHOOK_SECRET_RESOURCE: AdminResource = {
  create: async ({ WebhookId, OverlapHours }, change) => {
    const hours = OverlapHours === undefined ? DEFAULT_OVERLAP_HOURS : Number(OverlapHours)
    const isAllowed = hours >= 0 && hours <= MAX_OVERLAP_HOURS
    refuseFaults(
      change.conditions.faults,
      isAllowed
        ? []
        : [{ kind: 'OutOfRange', field: 'OverlapHours', limit: LIMITS.between(0, MAX_OVERLAP_HOURS) }],
    )
    const { webhook, secret } = await serviceOf(change).rotate(String(WebhookId), hours)
    return { key: webhook.Secrets.at(-1)?.SecretId ?? '', secret }
  },
  remove: (key, change) => {
    checkPrecondition(null, change.conditions)
    return serviceOf(change).removeSecret(key)
  },
}

const toText = (value: FieldValue | undefined): string | null | undefined =>
  value === undefined || value === null ? value : String(value)

/** An absent value is left out. */
const toWebhookChange = ({ Url, ClientId, From, State, ...others }: Values): WebhookChange => ({
  ...(Url !== undefined && { url: String(Url) }),
  ...(ClientId !== undefined && { clientId: String(ClientId) }),
  from: toText(From) ?? undefined,
  state: State === undefined ? undefined : (String(State).toLowerCase() as WebhookState),
  source: toText(others['Source']),
  token: toText(others['Token']),
  resourceName: toText(others['ResourceName']),
  filter: toText(others['Filter']),
})
