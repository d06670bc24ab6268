import { type Config, readConfig } from '../config/config.js'
import { AUDIENCES, SCOPES } from '../domain/actor.js'
import { type Grant, signToken } from '../http/auth/sign-token.js'
import { exitWithUsage, operatingSystemUser, parseCommandLine, printWarning, runCommand } from './command.js'

// npm run -s token: prints a token, and nothing else, on standard output. A key that is not in the database
// causes a warning on standard error.

const USAGE = `usage: npm run -s token -- [--scope "${SCOPES.slice(0, 2).join(' ')}"] [--member KEY] [--office KEY] [--class ${AUDIENCES.join('|')}] [--subject NAME] [--expires 8h]

Prints a token, signed with JWT_SECRET or with the secret in DATA_DIR, and nothing else.

  --scope "A B"    ${SCOPES.join(', ')}; default listings:read
  --class NAME     the audience: ${AUDIENCES.join(', ')}; default public
  --member KEY     the member that the token acts for
  --office KEY     the office that the token acts for
  --subject NAME   the holder of the token, for the logs (claim sub); default the user of the operating system
  --expires TIME   time until it expires, such as 30m, 8h or 7d; default 1h`

const OPTIONS = {
  scope: { type: 'string', default: 'listings:read' },
  member: { type: 'string' },
  office: { type: 'string' },
  class: { type: 'string', default: 'public' },
  subject: { type: 'string' },
  expires: { type: 'string', default: '1h' },
} as const

const SECONDS_PER_UNIT: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 }

const readOptions = () => parseCommandLine(USAGE, { options: OPTIONS }).values

function toGrant(
  { scope, member, office, class: audienceClass, subject, expires }: ReturnType<typeof readOptions>,
  maxDays: number,
): Grant {
  const scopes = scope.split(/\s+/).filter(name => name !== '')
  const unknown = scopes.find(name => !SCOPES.some(known => known === name))
  if (unknown !== undefined)
    exitWithUsage(USAGE, `--scope: there is no scope '${unknown}'; expected ${SCOPES.join(', ')}.`)
  const audience = AUDIENCES.find(known => known === audienceClass)
  if (audience === undefined)
    exitWithUsage(USAGE, `--class is '${audienceClass}'; expected one of ${AUDIENCES.join(', ')}.`)
  if (member === '' || office === '') exitWithUsage(USAGE, '--member and --office require a non-empty key.')
  if (subject === '') exitWithUsage(USAGE, '--subject requires a non-empty name.')
  const expiresIn = readDurationSeconds(expires, maxDays)
  return {
    scopes,
    audience,
    subject: subject ?? operatingSystemUser(),
    expiresIn,
    ...(member !== undefined && { memberKey: member }),
    ...(office !== undefined && { officeKey: office }),
  }
}

function readDurationSeconds(text: string, maxDays: number): number {
  const [, amount = '', unit = ''] = /^(\d{1,9})([smhd])$/.exec(text) ?? []
  const seconds = Number(amount) * (SECONDS_PER_UNIT[unit] ?? 0)
  if (seconds > 0 && seconds <= maxDays * 86_400) return seconds
  return exitWithUsage(
    USAGE,
    `--expires is '${text}'; expected a time such as 30m, 8h or 7d, at most ${maxDays} days (MAX_TOKEN_DAYS).`,
  )
}

/** Maximum time to look up keys in the database, in ms. A token does not depend on the result. */
const KEY_CHECK_TIMEOUT_MS = 2000

const describeUnknownKey = (kind: 'member' | 'office', key: string): string =>
  `No ${kind} has the key '${key}'. The token works, but no listing belongs to that ${kind}.`

/**
 * Describes the keys of a grant that the database does not contain. Only a running database is queried: the
 * embedded one is not started. The key of an office may also belong to a member, as in ListOfficeKey.
 */
async function findUnknownKeys(grant: Grant, config: Config): Promise<readonly string[]> {
  // Imported here, since a token without keys needs no database.
  const { openDatabase } = await import('../data/database.js')
  const { isEmbeddedDatabaseRunning } = await import('../data/embedded/embedded.js')
  if (config.embedded && !(await isEmbeddedDatabaseRunning(config.dataDir))) return []
  const database = await openDatabase({ ...config, poolWaitMs: KEY_CHECK_TIMEOUT_MS }, 'command')
  const { member, office } = database.prisma
  const isMember = async (key: string) => (await member.count({ where: { MemberKey: key } })) > 0
  const isOffice = async (key: string) => (await office.count({ where: { OfficeKey: key } })) > 0
  const { memberKey, officeKey } = grant
  try {
    return [
      ...(memberKey === undefined || (await isMember(memberKey))
        ? []
        : [describeUnknownKey('member', memberKey)]),
      ...(officeKey === undefined || (await isOffice(officeKey)) || (await isMember(officeKey))
        ? []
        : [describeUnknownKey('office', officeKey)]),
    ]
  } finally {
    await database.close()
  }
}

async function warnOfUnknownKeys(grant: Grant, config: Config): Promise<void> {
  if (grant.memberKey === undefined && grant.officeKey === undefined) return
  const warnings = await findUnknownKeys(grant, config).catch(() => [])
  for (const warning of warnings) printWarning(warning)
}

async function main(): Promise<void> {
  const options = readOptions()
  const config = readConfig(process.env)
  const grant = toGrant(options, config.maxTokenDays)
  if (config.jwtSecret === undefined)
    throw new Error('JWT_SECRET is not set. Get tokens from the issuer of JWKS_URL.')
  process.stdout.write(`${signToken(grant, config.jwtSecret, config)}\n`)
  await warnOfUnknownKeys(grant, config)
}

runCommand(main)
