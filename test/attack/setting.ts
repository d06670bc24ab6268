import { type ChildProcess, fork } from 'node:child_process'
import { createSecretKey } from 'node:crypto'
import { once } from 'node:events'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import jwt from 'jsonwebtoken'
import { Client } from 'pg'
import { type Cluster, startCluster } from '../support/postgres.js'
import { type ServiceProcess, spawnService } from '../support/service-process.js'
import { createRunFolder } from '../support/setup.js'
import type { Target } from './attack.js'
import { type KeyServer, startKeyServer } from './key-server.js'
import type { LightClient } from './light-client.js'

/** A service as a process of its own, with its database and its key server. */
export interface Setting {
  readonly service: ServiceProcess
  readonly target: Target
  readonly keyServer: KeyServer
  readonly databaseUrl: string
  readonly light: LightClient
  /** Process that runs the attacks when it gets a message. */
  readonly attacker: ChildProcess
  stop(): Promise<void>
}

const SECRET = 'a secret of the attack test, long enough for HS256'
const HEAP_MB = 512
/** Database, attacker and service share the machine: more heavy statements would leave the service no processor. */
const POOL_SIZE = 4
/** Minimum time between two reads of the key set. */
export const KEY_SERVER_COOLDOWN_MS = 1000
const TOKEN_SECONDS = 86_400
/** Listings and media for reads that take seconds. No trigger runs, so nothing else depends on them. */
const FILL = [
  `set session_replication_role = replica`,
  `insert into "Property" ("ListingKey", "StandardStatus", "City", "PublicRemarks", "ModificationTimestamp", "OriginatingSystemName")
   select 'H' || n, 'Active', 'Heavy', repeat('A quiet place by the lake, with a pool. ', 12) || n, now(), 'x' from generate_series(1, 4000) n`,
  `insert into "Media" ("MediaKey", "ResourceName", "ResourceRecordKey", "PropertyKey", "Order", "ModificationTimestamp", "MediaModificationTimestamp")
   select 'H' || n || '-' || o, 'Property', 'H' || n, 'H' || n, o, now(), now() from generate_series(1, 4000) n, generate_series(1, 10) o`,
  `reset session_replication_role`,
  `analyze`,
]

/** Starts everything. Returns undefined if PostgreSQL is not installed. */
export async function startSetting(): Promise<Setting | undefined> {
  createRunFolder()
  const cluster = await startCluster()
  if (cluster === undefined) return undefined
  const keyServer = await startKeyServer()
  const databaseUrl = await createDatabase(cluster)
  const service = spawnService(
    {
      DATABASE_URL: databaseUrl,
      SAMPLE_DATA: 'on',
      NODE_ENV: 'production',
      NODE_OPTIONS: `--max-old-space-size=${HEAP_MB}`,
      POOL_SIZE: String(POOL_SIZE),
      JWT_SECRET: SECRET,
      JWKS_URL: keyServer.url,
      JWKS_MAX_AGE_MS: '2000',
      JWKS_COOLDOWN_MS: String(KEY_SERVER_COOLDOWN_MS),
      JWKS_TIMEOUT_MS: '1500',
    },
    // Linux gives each session the same share of the processors.
    { detached: true },
  )
  const port = await service.port
  const { attacker: agent, light } = await fillDatabase(databaseUrl)
  const attacker = fork(fileURLToPath(new URL('attackers.ts', import.meta.url)), [], { detached: true })
  const kill = () => {
    attacker.kill('SIGKILL')
    service.child.kill('SIGKILL')
  }
  process.once('exit', kill)
  const stop = async () => {
    kill()
    keyServer.close()
    await service.exit
    await cluster.stop()
  }
  return {
    service,
    keyServer,
    databaseUrl,
    attacker,
    stop,
    target: { port, ...agent, ...signAttackerTokens(keyServer, agent.memberKey) },
    light: {
      base: `http://127.0.0.1:${port}`,
      memberKey: light.memberKey,
      token: signSecretToken({
        sub: 'light client',
        scope: 'listings:read listings:write listings:write:any',
        audience_class: 'staff',
      }),
    },
  }
}

async function createDatabase(cluster: Cluster): Promise<string> {
  const client = new Client({ connectionString: cluster.url('postgres') })
  await client.connect()
  await client.query('create database attack')
  await client.end()
  return cluster.url('attack')
}

type Agent = Pick<Target, 'memberKey' | 'officeKey'>

/** Adds the records that make reads heavy. Returns two agents. */
async function fillDatabase(
  databaseUrl: string,
): Promise<{ readonly attacker: Agent; readonly light: Agent }> {
  const client = new Client({ connectionString: databaseUrl })
  await client.connect()
  for (const statement of FILL) await client.query(statement)
  const { rows } = await client.query<Agent>(
    'select "MemberKey" as "memberKey", "OfficeKey" as "officeKey" from "Member" order by 1 limit 2',
  )
  await client.end()
  const [attacker, light] = rows
  if (!attacker || !light) throw new Error('The sample market has no two members')
  return { attacker, light }
}

const signSecretToken = (claims: object): string =>
  jwt.sign(claims, createSecretKey(SECRET, 'utf8'), { algorithm: 'HS256', expiresIn: TOKEN_SECONDS })

/** All tokens of the attacker name the same client. */
function signAttackerTokens(
  { privateKey, unknownKey, keyId }: KeyServer,
  memberKey: string,
): Pick<Target, 'readToken' | 'writeToken' | 'keyServerToken' | 'unknownKeyToken'> {
  const reader = { sub: 'attacker', scope: 'listings:read', audience_class: 'public' }
  const withKey = { algorithm: 'ES256', expiresIn: TOKEN_SECONDS } as const
  return {
    readToken: signSecretToken(reader),
    writeToken: signSecretToken({ ...reader, scope: 'listings:read listings:write', member_key: memberKey }),
    keyServerToken: jwt.sign(reader, privateKey, { ...withKey, keyid: keyId }),
    unknownKeyToken: jwt.sign(reader, unknownKey, { ...withKey, keyid: 'unknown' }),
  }
}

const ENDING_MS = 10_000
const STATEMENT_COUNT = `select count(*)::int as count from pg_stat_activity
  where datname = current_database() and state = 'active' and clock_timestamp() - query_start > interval '300 ms'
    and pid <> pg_backend_pid()`

/** Returns the number of statements that still run some seconds after the last client has disconnected. */
export async function countStatementsLeft(databaseUrl: string): Promise<number> {
  const client = new Client({ connectionString: databaseUrl })
  await client.connect()
  let count = 0
  for (const end = performance.now() + ENDING_MS; performance.now() < end; await wait(200)) {
    const { rows } = await client.query<{ count: number }>(STATEMENT_COUNT)
    count = rows[0]?.count ?? 0
    if (count === 0) break
  }
  await client.end()
  return count
}

/** Sends a message to the attacker and waits for the reply. */
export async function askAttacker<T>(attacker: ChildProcess, message: object): Promise<T> {
  attacker.send(message)
  const answer = once(attacker, 'message').then(([result]) => result as T) // as attackers.ts sends it
  const end = once(attacker, 'exit').then(([code]) => {
    throw new Error(`The attacker ended with ${code}`)
  })
  return await Promise.race([answer, end])
}
