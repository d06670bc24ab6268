import type { KeyObject } from 'node:crypto'
import { DEFAULT_PARSE_LIMITS } from '../../language/parse-limits.js'
import { parseExpression } from '../../language/parser.js'
import { createSelectionDependencies, type PageSettings } from './selection.js'
import type { WebhookServiceDependencies } from './webhooks.js'

/** The settings that the changes of webhooks depend on. */
export type WebhookSettings = Omit<WebhookServiceDependencies, 'database' | 'actor'>

/** The settings of the environment that they depend on. */
interface WebhookEnvironment extends PageSettings {
  readonly webhookEncryption: KeyObject
  readonly webhookPrivateAddresses: boolean
  readonly publicUrl: string | undefined
}

/** Returns these settings from the environment. */
export function createWebhookSettings(config: WebhookEnvironment): WebhookSettings {
  const context = { limits: DEFAULT_PARSE_LIMITS, aliases: new Map<string, string>() }
  return {
    ...createSelectionDependencies(config, filter => parseExpression(filter, context, 'the filter')),
    encryptionKey: config.webhookEncryption,
    rules: { allowsPrivate: config.webhookPrivateAddresses, publicUrl: config.publicUrl },
  }
}
