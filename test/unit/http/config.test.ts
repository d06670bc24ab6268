import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { ConfigError, readConfig } from '../../../src/config/config.js'
import { SETTINGS } from '../../../src/config/settings.js'

const SECRET = 's'.repeat(32)
const ON_POSTGRES = { DATABASE_URL: 'postgresql://user:hidden-password@db/listings', JWT_SECRET: SECRET }

const faultsOf = (env: Readonly<Record<string, string>>): readonly string[] => {
  try {
    readConfig(env)
    return []
  } catch (error) {
    if (error instanceof ConfigError) return error.faults
    throw error
  }
}

describe('settings', () => {
  test('defaults', () => {
    const config = readConfig(ON_POSTGRES)
    expect(config).toMatchObject({
      port: 4000,
      host: '127.0.0.1',
      pageSize: 100,
      pageSizeMax: 1000,
      expandPageMax: 100,
      maxTokenDays: 400,
      corsOrigins: [],
      rateLimit: 0,
    })
    expect(config).toMatchObject({
      embedded: false,
      production: false,
      sampleData: false,
      graphiql: true,
      trustProxy: 0,
      logLevel: 'info',
      publicUrl: undefined,
    })
  })

  test('features that are off in production', () => {
    expect(readConfig({ ...ON_POSTGRES, NODE_ENV: 'production' })).toMatchObject({
      introspection: false,
      graphiql: false,
      frontPage: false,
    })
    expect(readConfig({ ...ON_POSTGRES, NODE_ENV: 'production', GRAPHIQL: 'on' })).toMatchObject({
      graphiql: true,
    })
  })

  test('OAU-18: in production Basic authentication is on only with https, and BASIC_AUTH without https is a fault', () => {
    const production = { ...ON_POSTGRES, NODE_ENV: 'production' }
    expect(readConfig(production).basicAuth).toBe(false)
    expect(readConfig({ ...production, PUBLIC_URL: 'https://a.example' }).basicAuth).toBe(true)
    expect(() => readConfig({ ...production, BASIC_AUTH: 'on', PUBLIC_URL: 'http://a.example' })).toThrow(
      /BASIC_AUTH is on; expected an https PUBLIC_URL/,
    )
  })

  test('a value is read', () => {
    const config = readConfig({
      ...ON_POSTGRES,
      PORT: ' 8080 ',
      PUBLIC_URL: 'https://api.example.test/reso/',
      CORS_ORIGINS: 'https://a.example, http://b.example:81/',
      LOG_LEVEL: 'WARN',
      TRUST_PROXY: 'On',
    })
    expect(config).toMatchObject({
      port: 8080,
      publicUrl: 'https://api.example.test/reso',
      corsOrigins: ['https://a.example', 'http://b.example:81'],
      logLevel: 'warn',
      trustProxy: 1,
    })
  })

  test('an empty variable counts as unset and an unknown one is no error', () => {
    expect(readConfig({ ...ON_POSTGRES, PORT: '', PAGE_SIZES: 'x' }).port).toBe(4000)
  })

  test.each([
    ['PORT', '99999'],
    ['PORT', '1e3'],
    ['PORT', '-1'],
    ['PUBLIC_URL', 'ftp://a'],
    ['PUBLIC_URL', 'https://u:p@a'],
    ['PUBLIC_URL', 'https://a?x=1'],
    ['JWKS_URL', 'keys'],
    ['CORS_ORIGINS', 'a.example'],
    ['CORS_ORIGINS', 'https://a.example/app'],
    ['TRUST_PROXY', 'maybe'],
    ['LOG_LEVEL', 'loud'],
    ['PAGE_SIZE', '0'],
  ])('%s=%s is refused with its value', (name, value) => {
    expect(faultsOf({ ...ON_POSTGRES, [name]: value })).toEqual([
      expect.stringMatching(`^${name} is '.*'; expected .+\\.$`),
    ])
  })

  test('all faults are reported together, without secrets', () => {
    const faults = faultsOf({
      DATABASE_URL: 'mysql://root:hidden@db',
      JWT_SECRET: 'too-short',
      PORT: 'abc',
      PAGE_SIZE: 'many',
    })
    expect(faults).toHaveLength(4)
    expect(faults.join()).not.toMatch(/hidden|too-short/)
    expect(faults.join()).toContain("PORT is 'abc'; expected a whole number from 0 to 65535.")
  })

  test('settings that do not fit together', () => {
    expect(
      faultsOf({ ...ON_POSTGRES, PAGE_SIZE: '500', PAGE_SIZE_MAX: '100', MAX_QUERY_LENGTH: '65536' }),
    ).toHaveLength(2)
  })

  test('the table: names are unique, every row has its words', () => {
    const rows = Object.values(SETTINGS)
    expect(new Set(rows.map(row => row.name)).size).toBe(rows.length)
    for (const row of rows)
      expect([row.name, row.about, row.defaultText, row.expected].every(text => text.length > 0)).toBe(true)
  })

  test('the configuration is frozen and does not show its keys', () => {
    const config = readConfig(ON_POSTGRES)
    expect(Object.isFrozen(config) && Object.isFrozen(config.corsOrigins)).toBe(true)
    expect(JSON.stringify({ secret: config.jwtSecret, key: config.tokenKey })).not.toContain(SECRET)
  })
})

describe('keys with PostgreSQL', () => {
  test('JWT_SECRET or JWKS_URL is required', () => {
    expect(faultsOf({ DATABASE_URL: ON_POSTGRES.DATABASE_URL })).toEqual([
      expect.stringContaining('JWT_SECRET or JWKS_URL'),
    ])
  })

  test('with JWKS_URL alone, TOKEN_KEY is required and no HS256 token works', () => {
    const env = { DATABASE_URL: ON_POSTGRES.DATABASE_URL, JWKS_URL: 'https://id.example/keys' }
    expect(faultsOf(env)).toEqual([expect.stringContaining('TOKEN_KEY')])
    expect(readConfig({ ...env, TOKEN_KEY: SECRET }).jwtSecret).toBeUndefined()
  })

  test('the key of page tokens is derived, stable, and not the secret', () => {
    const [first, second] = [readConfig(ON_POSTGRES).tokenKey, readConfig(ON_POSTGRES).tokenKey].map(key =>
      key.export(),
    )
    expect(first).toEqual(second)
    expect(first).toHaveLength(32)
    expect(first?.toString()).not.toBe(SECRET)
    expect(readConfig({ ...ON_POSTGRES, TOKEN_KEY: 'k'.repeat(32) }).tokenKey.export()).not.toEqual(first)
  })
})

describe('keys with the embedded database', () => {
  let folder: string
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'listing-config-'))
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  test('a secret is created once and readable by its owner only', () => {
    const dataDir = join(folder, 'data')
    const [first, second] = [readConfig({ DATA_DIR: dataDir }), readConfig({ DATA_DIR: dataDir })]
    expect(first.jwtSecret?.export()).toEqual(second.jwtSecret?.export())
    expect(statSync(join(dataDir, 'secret')).mode & 0o777).toBe(0o600)
    expect(statSync(dataDir).mode & 0o777).toBe(0o700)
    expect(readFileSync(join(dataDir, 'secret'), 'utf8').length).toBeGreaterThan(40)
  })

  test('JWKS_URL disables HS256 here too', () => {
    expect(readConfig({ DATA_DIR: folder, JWKS_URL: 'http://127.0.0.1:1/keys' }).jwtSecret).toBeUndefined()
  })

  test('a folder that cannot be used is a clear fault', () => {
    writeFileSync(join(folder, 'file'), '')
    expect(faultsOf({ DATA_DIR: join(folder, 'file') })).toEqual([
      expect.stringMatching(/^DATA_DIR is '.*file'; expected a writable folder/),
    ])
  })
})
