import { createSecretKey, hkdfSync, type KeyObject } from 'node:crypto'
import { readOrCreateSecret } from './secret.js'
import { type ConfigFlags, SETTINGS, type Setting, type Settings } from './settings.js'

type Environment = Readonly<Record<string, string | undefined>>

/** The settings of one process, frozen. Keys are KeyObjects, which a log does not print. */
export interface Config extends Omit<Settings, 'jwtSecret' | 'tokenKey'>, ConfigFlags {
  /** Key of HS256 tokens. Undefined if only JWKS_URL is set. */
  readonly jwtSecret: KeyObject | undefined
  /** 32 bytes, used for page tokens only. */
  readonly tokenKey: KeyObject
  /** 32 bytes, which encrypt the keys that sign access tokens. */
  readonly signingKeyEncryption: KeyObject
  /** 32 bytes, which encrypt the secrets of webhooks. */
  readonly webhookEncryption: KeyObject
}

/** All faults of the environment, one sentence each. */
export class ConfigError extends Error {
  readonly faults: readonly string[]

  constructor(faults: readonly string[]) {
    super(`The settings cannot be used:\n${faults.map(fault => `  ${fault}`).join('\n')}`)
    this.name = 'ConfigError'
    this.faults = faults
  }
}

const PAGE_TOKEN_LABEL = 'listing-service/page-token/1'
const WEBHOOK_LABEL = 'listing-service/webhook/1'
const SIGNING_KEY_LABEL = 'listing-service/signing-key/1'
/** Space for the path and the other headers, besides the longest query string. */
const HEADER_MARGIN_BYTES = 8192

/**
 * Reads the settings from the environment. Empty variables count as unset; unknown ones are ignored. The
 * embedded database needs no keys in the environment: a secret is created in DATA_DIR by the first call.
 * @throws ConfigError with every fault
 */
export function readConfig(env: Environment): Config {
  const settings = readSettings(env, findMissingKeys)
  return deepFreeze({ ...settings, ...readKeys(settings, settings.embedded) })
}

/**
 * Reads the settings without keys, for commands that use the database and serve no requests.
 * @throws ConfigError with every fault
 */
export function readSettings(
  env: Environment,
  findFurtherConflicts: (settings: Settings & ConfigFlags) => readonly string[] = () => [],
): Settings & ConfigFlags {
  const flags = {
    production: env.NODE_ENV?.trim().toLowerCase() === 'production',
    embedded: isUnset(env[SETTINGS.databaseUrl.name]),
    https: /^\s*https:/i.test(env[SETTINGS.publicUrl.name] ?? ''),
  }
  const faults: string[] = []
  const read = <T>(setting: Setting<T>): T => {
    const text = env[setting.name]
    const value =
      text === undefined || isUnset(text)
        ? setting.fallback(flags)
        : setting.read(setting.secret ? text : text.trim())
    if (value === undefined && !isUnset(text)) faults.push(describeInvalid(setting, text))
    // An invalid value is undefined here. Its fault throws below.
    return value as T
  }
  // Each value has the type of its row, which the type of `entries` cannot express.
  const values = Object.fromEntries(
    Object.entries<Setting<unknown>>(SETTINGS).map(([key, setting]) => [key, read(setting)]),
  ) as Settings
  const settings = { ...values, ...flags }
  const known = faults.length === 0 ? [...findConflicts(settings), ...findFurtherConflicts(settings)] : faults
  if (known.length > 0) throw new ConfigError(known)
  return settings
}

const isUnset = (text: string | undefined): boolean => text === undefined || text.trim() === ''

function describeInvalid(setting: Setting<unknown>, text: string | undefined): string {
  const state = setting.secret ? 'cannot be used' : `is '${text?.trim()}'`
  return `${setting.name} ${state}; expected ${setting.expected}.`
}

function findConflicts({
  pageSize,
  pageSizeMax,
  maxQueryLength,
  maxHeaderBytes,
  workers,
  embedded,
  production,
  https,
  basicAuth,
}: Settings & ConfigFlags): readonly string[] {
  return violatedRules(
    [
      workers === 1 || !embedded,
      `WORKERS is '${workers}'; expected 1 without DATABASE_URL, since the embedded database supports only one process.`,
    ],
    [
      !basicAuth || https || !production,
      'BASIC_AUTH is on; expected an https PUBLIC_URL in production, since Basic authentication sends the secret with every request.',
    ],
    [pageSize <= pageSizeMax, `PAGE_SIZE is '${pageSize}'; expected at most PAGE_SIZE_MAX (${pageSizeMax}).`],
    [
      maxHeaderBytes >= maxQueryLength + HEADER_MARGIN_BYTES,
      `MAX_HEADER_BYTES is '${maxHeaderBytes}'; expected at least MAX_QUERY_LENGTH + ${HEADER_MARGIN_BYTES} (${maxQueryLength + HEADER_MARGIN_BYTES}).`,
    ],
  )
}

function findMissingKeys({
  embedded,
  jwtSecret,
  jwksUrl,
  tokenKey,
}: Settings & ConfigFlags): readonly string[] {
  return violatedRules(
    [
      embedded || jwtSecret !== undefined || jwksUrl !== undefined,
      'JWT_SECRET is unset; expected JWT_SECRET or JWKS_URL, since DATABASE_URL is set.',
    ],
    [
      embedded || jwtSecret !== undefined || jwksUrl === undefined || tokenKey !== undefined,
      'TOKEN_KEY is unset; expected a secret of at least 32 bytes, since there is no JWT_SECRET to derive it from.',
    ],
  )
}

type ConfigRule = readonly [holds: boolean, fault: string]
const violatedRules = (...rules: readonly ConfigRule[]): readonly string[] =>
  rules.filter(([holds]) => !holds).map(([, fault]) => fault)

/**
 * Returns the keys. If JWKS_URL is set, the generated secret serves page tokens only: tokens signed with it
 * are not accepted.
 */
function readKeys(
  settings: Settings,
  embedded: boolean,
): Pick<Config, 'jwtSecret' | 'tokenKey' | 'signingKeyEncryption' | 'webhookEncryption'> {
  const needsGenerated =
    embedded &&
    settings.jwtSecret === undefined &&
    (settings.jwksUrl === undefined || settings.tokenKey === undefined)
  const generated = needsGenerated ? readGeneratedSecret(settings.dataDir) : undefined
  const jwtSecret = settings.jwtSecret ?? (settings.jwksUrl === undefined ? generated : undefined)
  const keyMaterial = settings.tokenKey ?? jwtSecret ?? generated ?? ''
  const derive = (label: string) =>
    createSecretKey(Buffer.from(hkdfSync('sha256', keyMaterial, '', label, 32)))
  return {
    jwtSecret: jwtSecret === undefined ? undefined : createSecretKey(jwtSecret, 'utf8'),
    tokenKey: derive(PAGE_TOKEN_LABEL),
    signingKeyEncryption: derive(SIGNING_KEY_LABEL),
    webhookEncryption: derive(WEBHOOK_LABEL),
  }
}

function readGeneratedSecret(dataDir: string): string {
  try {
    return readOrCreateSecret(dataDir)
  } catch (error) {
    throw new ConfigError([error instanceof Error ? error.message : String(error)])
  }
}

function deepFreeze(config: Config): Config {
  for (const value of Object.values(config)) if (Array.isArray(value)) Object.freeze(value)
  return Object.freeze(config)
}
