/** Properties of the environment that the defaults of some settings depend on. */
export interface ConfigFlags {
  /** NODE_ENV is `production`. */
  readonly production: boolean
  /** DATABASE_URL is unset: the database is in DATA_DIR. */
  readonly embedded: boolean
  /** PUBLIC_URL is an https URL. */
  readonly https: boolean
}

/** Parses a variable. `read` returns undefined for text that is not as expected. */
interface SettingReader<T> {
  readonly expected: string
  readonly read: (text: string) => T | undefined
}

/** One row of the settings table. */
export interface Setting<T> extends SettingReader<T> {
  /** Name of the environment variable. */
  readonly name: string
  readonly fallback: (flags: ConfigFlags) => T
  /** The default as the settings table shows it. */
  readonly defaultText: string
  readonly about: string
  /** The value is never printed, not even in an error. */
  readonly secret: boolean
}

const integer = (min: number, max: number): SettingReader<number> => ({
  expected: `a whole number from ${min} to ${max}`,
  read: text =>
    /^\d{1,15}$/.test(text) && Number(text) >= min && Number(text) <= max ? Number(text) : undefined,
})

const FLAGS = new Map([
  ...['true', 'on', 'yes', '1'].map(word => [word, true] as const),
  ...['false', 'off', 'no', '0'].map(word => [word, false] as const),
])

const flag: SettingReader<boolean> = {
  expected: 'true or false (also on, off, yes, no, 1, 0)',
  read: text => FLAGS.get(text.toLowerCase()),
}

/** A number of proxies. `true` is one, like `1`. */
const proxyCount: SettingReader<number> = {
  expected: 'true, false or a number of proxies up to 9',
  read: text => {
    const isSet = FLAGS.get(text.toLowerCase())
    if (isSet !== undefined) return isSet ? 1 : 0
    return /^[2-9]$/.test(text) ? Number(text) : undefined
  },
}

const anyText: SettingReader<string> = { expected: 'a string', read: text => text }

const secretText: SettingReader<string> = {
  expected: 'a secret of at least 32 bytes',
  read: text => (Buffer.byteLength(text) >= 32 ? text : undefined),
}

const oneOf = <T extends string>(...values: readonly T[]): SettingReader<T> => ({
  expected: `one of ${values.join(', ')}`,
  read: text => values.find(value => value === text.toLowerCase()),
})

/** Parses an absolute http or https URL without credentials, query and fragment. Removes a trailing slash. */
function readHttpUrl(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.password || url.search || url.hash)
    return undefined
  return url.href.replace(/\/+$/, '')
}

const httpUrl: SettingReader<string> = {
  expected: 'an http or https URL without credentials, query or fragment',
  read: readHttpUrl,
}

const keySetUrl: SettingReader<string> = {
  expected: 'the http or https URL of a JSON Web Key Set',
  read: text => (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol) ? text : undefined),
}

const databaseUrl: SettingReader<string> = {
  expected: 'a connection string that begins with postgresql:// or postgres://',
  read: text => (/^postgres(ql)?:\/\//.test(text) ? text : undefined),
}

/**
 * Parses a list of origins. Browsers send an origin as scheme, host and port, so anything longer would never
 * match.
 */
function readOrigins(text: string): readonly string[] | undefined {
  if (text.toLowerCase() === 'none') return []
  if (text === '*') return ['*']
  const parts = text.split(/[\s,]+/).filter(part => part !== '')
  const found = parts.map(readHttpUrl).filter(part => part !== undefined)
  return found.length === parts.length && found.every(part => new URL(part).origin === part)
    ? found
    : undefined
}

const origins: SettingReader<readonly string[]> = {
  expected: 'a comma-separated list of origins such as https://app.example, or *, or none',
  read: readOrigins,
}

type Fallback<T> = T | { readonly description: string; readonly of: (flags: ConfigFlags) => T }

const isConditional = <T>(
  fallback: Fallback<T>,
): fallback is { readonly description: string; readonly of: (flags: ConfigFlags) => T } =>
  typeof fallback === 'object' && fallback !== null && 'of' in fallback && 'description' in fallback

function setting<T>(
  name: string,
  reader: SettingReader<T>,
  fallback: Fallback<T>,
  about: string,
): Setting<T> {
  const row = { ...reader, name, about, secret: false }
  if (isConditional(fallback)) return { ...row, fallback: fallback.of, defaultText: fallback.description }
  const defaultText = Array.isArray(fallback) ? fallback.join(', ') || 'none' : String(fallback)
  return { ...row, fallback: () => fallback, defaultText }
}

const optional = <T>(name: string, reader: SettingReader<T>, about: string): Setting<T | undefined> => ({
  ...reader,
  name,
  about,
  secret: false,
  fallback: () => undefined,
  defaultText: 'unset',
})

const secret = <T>(name: string, reader: SettingReader<T>, about: string): Setting<T | undefined> => ({
  ...optional(name, reader, about),
  secret: true,
})

const ON_OUTSIDE_PRODUCTION = {
  description: 'on unless NODE_ENV=production',
  of: (flags: ConfigFlags) => !flags.production,
}
const ON_IF_EMBEDDED = {
  description: 'on with the embedded database, off with DATABASE_URL',
  of: (flags: ConfigFlags) => flags.embedded,
}
const ON_IF_SECURE = {
  description: 'on, in production only with an https PUBLIC_URL',
  of: (flags: ConfigFlags) => flags.https || !flags.production,
}
const NO_PROXY = { description: 'false', of: () => 0 }
const MINUTE_MS = 60_000

/** Every setting of the service. `Config` and the README's table are derived from it. */
// biome-ignore format: table
export const SETTINGS = {
  nodeEnv:       setting('NODE_ENV', oneOf('development', 'test', 'production'), 'development', '`production` turns off what only developers need: GraphiQL, introspection, the index page, the token at the start.'),
  databaseUrl:   secret('DATABASE_URL', databaseUrl, 'PostgreSQL 15 or newer. Unset: the embedded database in DATA_DIR.'),
  dataDir:       setting('DATA_DIR', anyText, './data', 'Folder of the embedded database, its secret and its socket.'),
  sampleData:    setting('SAMPLE_DATA', flag, ON_IF_EMBEDDED, 'Add 500 sample listings to an empty database.'),
  port:          setting('PORT', integer(0, 65_535), 4000, 'Port to listen on; 0 picks a free one.'),
  host:          setting('HOST', anyText, '127.0.0.1', 'Address to listen on; 0.0.0.0 for every interface.'),
  publicUrl:     optional('PUBLIC_URL', httpUrl, 'Base of all links, including the path prefix that a proxy strips. Unset: `http://` and the Host header.'),
  trustProxy:    setting('TRUST_PROXY', proxyCount, NO_PROXY, 'Trust X-Forwarded-Proto, X-Forwarded-Host and X-Forwarded-For. Only for use behind a proxy that sets them. With several proxies, set their number: the address of a client is then that entry of X-Forwarded-For, counted from the end.'),
  workers:       setting('WORKERS', integer(1, 64), 1, 'Processes that share the port, each with POOL_SIZE connections. More than one requires DATABASE_URL.'),
  corsOrigins:   setting<readonly string[]>('CORS_ORIGINS', origins, [], 'Origins whose pages may call the service, or `*`.'),

  jwtSecret:     secret('JWT_SECRET', secretText, 'Key of HS256 tokens. With the embedded database and without JWKS_URL, a key is created in DATA_DIR.'),
  jwksUrl:       optional('JWKS_URL', keySetUrl, 'Key set of RS256 and ES256 tokens.'),
  jwtIssuer:     optional('JWT_ISSUER', anyText, 'The issuer (`iss`) that tokens must name.'),
  jwtAudience:   optional('JWT_AUDIENCE', anyText, 'The audience (`aud`) that tokens must name.'),
  basicAuth:     setting('BASIC_AUTH', flag, ON_IF_SECURE, 'Basic authentication with the id and secret of a client, for tools that do not support tokens. Refused in production without an https PUBLIC_URL.'),
  accessTokenSeconds: setting('ACCESS_TOKEN_SECONDS', integer(60, 86_400), 3600, 'Lifetime of the access tokens that the service issues.'),
  maxTokenDays:  setting('MAX_TOKEN_DAYS', integer(1, 3650), 400, 'Maximum number of days until a token expires (`exp`).'),
  jwksMaxAgeMs:  setting('JWKS_MAX_AGE_MS', integer(100, 86_400_000), 5 * MINUTE_MS, 'Maximum age of the key set before it is read again. A removed key is accepted no longer than this, or up to a day while the key server cannot be reached.'),
  jwksCooldownMs: setting('JWKS_COOLDOWN_MS', integer(0, 3_600_000), 10_000, 'Minimum time between two reads of the key set that are caused by tokens with an unknown key.'),
  jwksTimeoutMs: setting('JWKS_TIMEOUT_MS', integer(50, 60_000), 3000, 'Maximum wait for the key server.'),
  tokenKey:      secret('TOKEN_KEY', secretText, 'Key that encrypts page tokens, signing keys and secrets of webhooks. Unset: derived from JWT_SECRET. Required with DATABASE_URL if only JWKS_URL is set.'),

  pageSize:      setting('PAGE_SIZE', integer(1, 10_000), 100, 'Records per page without `$top`.'),
  pageSizeMax:   setting('PAGE_SIZE_MAX', integer(1, 10_000), 1000, 'Maximum number of records per page.'),
  expandPageMax: setting('EXPAND_PAGE_MAX', integer(1, 10_000), 100, 'Maximum number of records per page with `$expand`.'),
  topIsTotal:    setting('TOP_IS_TOTAL', flag, false, '`$top` limits the total number of records, as in OData, instead of the page.'),
  strictLookups: setting('STRICT_LOOKUPS', flag, false, 'Lookup fields accept only the values that Lookup lists for them. A field without values in Lookup accepts any value.'),
  nonDisclosure: setting('NON_DISCLOSURE', flag, false, 'Only members and staff may read sold prices.'),
  originatingSystemName: setting('ORIGINATING_SYSTEM_NAME', anyText, 'Listing Service', 'OriginatingSystemName of new listings.'),

  introspection: setting('INTROSPECTION', flag, ON_OUTSIDE_PRODUCTION, 'GraphQL introspection.'),
  graphiql:      setting('GRAPHIQL', flag, ON_OUTSIDE_PRODUCTION, 'GraphiQL at /graphiql.'),
  frontPage:     setting('FRONT_PAGE', flag, ON_OUTSIDE_PRODUCTION, 'An index page at /.'),

  maxQueryLength: setting('MAX_QUERY_LENGTH', integer(256, 1_048_576), 16_384, 'Maximum length of a query string, in characters; above it 414.'),
  maxHeaderBytes: setting('MAX_HEADER_BYTES', integer(16_384, 2_097_152), 65_536, 'Maximum size of URL and headers together; above it 431.'),
  maxBodyBytes:  setting('MAX_BODY_BYTES', integer(1024, 104_857_600), 1_048_576, 'Maximum size of a request body; above it 413.'),
  maxBatchBytes: setting('MAX_BATCH_BYTES', integer(1024, 104_857_600), 4_194_304, 'Maximum size of a batch; above it 413.'),
  maxBatchRequests: setting('MAX_BATCH_REQUESTS', integer(1, 10_000), 100, 'Maximum number of requests in a batch; above it 400.'),
  maxDepth:      setting('MAX_DEPTH', integer(8, 1000), 100, 'Maximum nesting of an expression, and number of segments in a path.'),
  maxNodes:      setting('MAX_NODES', integer(100, 100_000), 5000, 'Maximum number of nodes of a query.'),
  maxList:       setting('MAX_LIST', integer(10, 30_000), 2000, 'Maximum number of values in an `in` list.'),
  maxDocumentLength: setting('MAX_DOCUMENT_LENGTH', integer(1024, 1_048_576), 65_536, 'Maximum length of a GraphQL document, in characters; above it 400.'),
  maxDocumentTokens: setting('MAX_DOCUMENT_TOKENS', integer(256, 100_000), 6000, 'Maximum number of tokens in a GraphQL document.'),
  maxSelectionDepth: setting('MAX_SELECTION_DEPTH', integer(4, 100), 16, 'Maximum depth of fields in a GraphQL document. Introspection needs 15.'),
  maxAliases:    setting('MAX_ALIASES', integer(0, 10_000), 100, 'Maximum number of aliases in a GraphQL operation.'),
  maxRootFields: setting('MAX_ROOT_FIELDS', integer(1, 1000), 20, 'Maximum number of root fields in a GraphQL operation.'),
  maxFieldDirectives: setting('MAX_FIELD_DIRECTIVES', integer(1, 1000), 8, 'Maximum number of directives on one element of a GraphQL document.'),
  maxCost:       setting('MAX_COST', integer(100, 10_000_000), 20_000, 'Maximum number of records that a GraphQL operation is expected to read.'),
  maxSockets:    setting('MAX_SOCKETS', integer(1, 100_000), 1000, 'Maximum number of WebSockets per process; above it 503.'),
  maxSocketOperations: setting('MAX_SOCKET_OPERATIONS', integer(1, 10_000), 50, 'Maximum number of concurrent GraphQL operations on one WebSocket.'),
  maxSubscriptions: setting('MAX_SUBSCRIPTIONS', integer(1, 100_000), 1000, 'Maximum number of subscriptions per process, over WebSockets and event streams.'),
  keepAliveMs:   setting('KEEP_ALIVE_MS', integer(100, 3_600_000), 12_000, 'Interval of keep-alive messages on WebSockets and event streams. A WebSocket that does not answer within it is closed.'),
  rateLimit:     setting('RATE_LIMIT', integer(0, 1_000_000), 0, 'Rate limit: requests per minute and token; above it 429. 0: no limit.'),
  compressMinBytes: setting('COMPRESS_MIN_BYTES', integer(0, 104_857_600), 1024, 'Minimum size of a response that is compressed, if the client accepts compression.'),

  readEngine:    setting('READ_ENGINE', oneOf('sql', 'prisma'), 'sql', '`prisma`: Prisma reads what its arguments can express, with the same responses (docs/prisma.md). Slower.'),
  poolSize:      setting('POOL_SIZE', integer(1, 500), 10, 'Connections to PostgreSQL. Half of them reuse generic query plans, for writes and reads by one index.'),
  poolWaitMs:    setting('POOL_WAIT_MS', integer(50, 60_000), 5000, 'Maximum time that a request waits for connections and locks; after it 503.'),
  statementTimeoutMs: setting('STATEMENT_TIMEOUT_MS', integer(50, 600_000), 15_000, 'Maximum duration of one SQL statement; after it 503.'),
  shutdownDrainMs: setting('SHUTDOWN_DRAIN_MS', integer(0, 600_000), 0, 'Time after SIGTERM in which the service is not ready but still accepts requests. It must be longer than load balancers need to notice that.'),
  shutdownTimeoutMs: setting('SHUTDOWN_TIMEOUT_MS', integer(0, 600_000), 10_000, 'Time that running requests have to finish after the port is closed.'),
  logKeepDays:   setting('LOG_KEEP_DAYS', integer(1, 36_500), 90, '`npm run prune` drops events older than this number of days. The last event of an existing record is never dropped.'),
  auditKeepDays: setting('AUDIT_KEEP_DAYS', integer(1, 36_500), 400, '`npm run prune` drops entries of the audit log older than this number of days.'),
  webhookPrivateAddresses: setting('WEBHOOK_PRIVATE_ADDRESSES', flag, false, 'Webhooks may go to loopback and private addresses, and by http. Link-local and metadata addresses are never called.'),
  webhookTimeoutMs: setting('WEBHOOK_TIMEOUT_MS', integer(1000, 30_000), 20_000, 'Maximum duration of one attempt to deliver a webhook, from name resolution to the end of the response headers.'),
  webhookRetryHours: setting('WEBHOOK_RETRY_HOURS', integer(1, 8760), 72, 'Time after the first failure of a batch. After it the webhook stops and waits for a command.'),
  webhookLogDays: setting('WEBHOOK_LOG_DAYS', integer(1, 3650), 30, 'Attempts are deleted from the delivery log after this number of days.'),
  metricsPort:   optional('METRICS_PORT', integer(0, 65_535), 'Port of `/metrics` for Prometheus, for all WORKERS together. Unset: no metrics.'),
  metricsHost:   setting('METRICS_HOST', anyText, '127.0.0.1', 'Address of METRICS_PORT. It needs no token, so only Prometheus may reach it.'),
  metricsClients: setting('METRICS_CLIENTS', flag, false, 'Metrics contain the ids of registered clients, of at most 1,000. Otherwise they contain only the class of a client.'),
  slowQueryMs:   setting('SLOW_QUERY_MS', integer(0, 600_000), 1000, 'SQL statements that take at least this long are logged. 0: none are logged.'),
  logLevel:      setting('LOG_LEVEL', oneOf('trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'), 'info', 'Minimum log level.'),
} as const

export type Settings = {
  readonly [K in keyof typeof SETTINGS]: (typeof SETTINGS)[K] extends Setting<infer T> ? T : never
}
