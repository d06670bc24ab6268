import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { describe, expect, test } from 'vitest'

interface Ended {
  readonly code: number
  readonly out: string
  readonly err: string
}

/** A free port of this machine. */
const NOWHERE = 'postgresql://nobody@127.0.0.1:1/nothing'

/**
 * Runs a program of the project. A program that accepts what it should refuse and keeps running is
 * terminated.
 */
const run = (file: string, args: readonly string[], databaseUrl = NOWHERE): Promise<Ended> =>
  new Promise(resolve => {
    const env = { PATH: process.env['PATH'], DATABASE_URL: databaseUrl, JWT_SECRET: 's'.repeat(32) }
    const program = file.endsWith('.ts') ? ['--import', './src/typescript.mjs', file] : [file]
    execFile(process.execPath, [...program, ...args], { env, timeout: 60_000 }, (error, out, err) =>
      resolve({ code: Number(error?.code ?? 0), out, err }),
    )
  })

const COMMANDS = [
  'token',
  'import',
  'seed',
  'migrate',
  'prune',
  'studio',
  'schema',
  'clients',
  'webhooks',
  'usage',
  'keys',
].map(name => [name, `src/cli/${name}.ts`] as const)

describe('the arguments of a command', () => {
  test.each([...COMMANDS, ['check', '.ci/check.mjs'], ['bench', 'bench/run.mjs']] as const)(
    '%s: --help prints the usage and does nothing; an option that is unknown is refused with the reason and the usage',
    async (name, file) => {
      const [help, unknown] = await Promise.all([run(file, ['--help']), run(file, ['--hlep'])])
      expect(help).toEqual({
        code: 0,
        out: expect.stringMatching(new RegExp(`^usage: npm run (-s )?${name}`)),
        err: '',
      })
      expect(unknown).toEqual({
        code: 1,
        out: '',
        err: `Unknown option '--hlep'.\n${help.out.split('\n')[0]}\n`,
      })
    },
    90_000,
  )

  test.each(['seed', 'migrate', 'prune', 'studio', 'schema'])(
    '%s: a word without an option is refused',
    async name => {
      const { code, out, err } = await run(`src/cli/${name}.ts`, ['production'])
      expect({ code, out }).toEqual({ code: 1, out: '' })
      expect(err).toMatch(/^Unexpected argument 'production'\.\nusage: npm run .*\n$/)
    },
  )

  test.each<[string, readonly string[], string]>([
    ['seed', [], '--listings is missing; expected a number from 1 to 10000000.'],
    ['seed', ['--listings', '-5'], "Option '--listings' argument is ambiguous."],
    ['studio', ['--port', '0'], "--port is '0'; expected a number from 1 to 65535."],
    ['import', [], 'The file name is missing.'],
    ['import', ['a.json', 'b.json'], "Only one file can be imported at a time; unexpected: 'b.json'."],
  ])('%s %j: the reason in one line, and the usage', async (name, args, reason) => {
    const { code, out, err } = await run(`src/cli/${name}.ts`, args)
    expect({ code, out }).toEqual({ code: 1, out: '' })
    expect(err.split('\n')).toEqual([reason, expect.stringMatching(`^usage: npm run ${name}`), ''])
  })

  test.each<[readonly string[], RegExp]>([
    [['add', 'X', '--scope', 'listings:delete'], /^--scope: there is no scope 'listings:delete'/],
    [['add', 'X', '--class', 'broker'], /^--class is 'broker'; expected one of public, member, staff\./],
    [['add', 'X', '--expires', '2020-01-01'], /^--expires is '2020-01-01'; expected a time in the future/],
    [['add', 'X', '--keys', 'package.json'], /^--keys: package.json is not a key set of public/],
    [['frobnicate'], /^There is no action 'frobnicate'\.\nusage: /],
    [['disable'], /^The id or name of the client is missing\.\nusage: /],
    [['list', '--end'], /^The action list has no option '--end'\.\nusage: /],
    [['change', 'x'], /^There is nothing to change\.\nusage: /],
  ])('clients %j is refused with a sentence', async (args, reason) => {
    const { code, out, err } = await run('src/cli/clients.ts', args)
    expect({ code, out }).toEqual({ code: 1, out: '' })
    expect(err).toMatch(reason)
  })

  test.each<[string, string, readonly string[]]>([
    ['token.ts', 'scope', ['--scope', 'listings:read', '--scope', 'listings:write']],
    ['replicate.ts', 'to', ['--to', 'a', '--to', 'b']],
    ['import.ts', 'strict', ['--strict', 'a.json', '--strict']],
  ])('%s refuses a second --%s', async (file, option, args) => {
    const { code, out, err } = await run(`src/cli/${file}`, args)
    expect({ code, out }).toEqual({ code: 1, out: '' })
    expect(err).toMatch(
      new RegExp(`^Option '--${option}' can be given only once\\.\nusage: npm run [^\n]+\n$`),
    )
  })

  test.each([
    ['nowhere.json', 'There is no file nowhere.json.\n'],
    [tmpdir(), `${tmpdir()} is a folder, not a file.\n`],
    ['/dev/null', '/dev/null is a device or a pipe, not a file.\n'],
  ])('import %s: the message says what is there instead of a file, without the usage', async (path, err) => {
    expect(await run('src/cli/import.ts', [path])).toEqual({ code: 1, out: '', err })
  })
}, 60_000)

describe('a database that cannot be reached', () => {
  const SENTENCE = 'The database of DATABASE_URL cannot be reached: '

  test.each([
    ['migrate', []],
    ['prune', []],
    ['seed', ['--listings', '1']],
    ['import', ['package.json']],
    ['studio', []],
  ])('%s says so in one line, with the reason', async (name, args) => {
    expect(await run(`src/cli/${name}.ts`, args)).toEqual({
      code: 1,
      out: '',
      err: `${SENTENCE}connect ECONNREFUSED 127.0.0.1:1\n`,
    })
  })

  test.each([
    [
      'a name that is unknown',
      'postgresql://nowhere.invalid/nothing',
      /: getaddrinfo \w+ nowhere\.invalid\n$/,
    ],
    [
      'a name with several addresses',
      'postgresql://localhost:1/nothing',
      /: connect ECONNREFUSED [^\n]+:1\n$/,
    ],
    ['an address that is none', 'postgresql://host:port/nothing', /: Invalid URL\n$/],
  ])('%s: the reason is not empty', async (_name, databaseUrl, reason) => {
    const { code, out, err } = await run('src/cli/migrate.ts', [], databaseUrl)
    expect({ code, out }).toEqual({ code: 1, out: '' })
    expect(err).toMatch(reason)
    expect(err.startsWith(SENTENCE)).toBe(true)
  })

  test('a server that closes the connection', async () => {
    const server = createServer(socket => socket.destroy()).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as { port: number } // it listens on a port
    const { code, err } = await run(
      'src/cli/migrate.ts',
      [],
      `postgresql://127.0.0.1:${port}/nothing`,
    ).finally(() => server.close())
    expect(code).toBe(1)
    expect(err).toMatch(new RegExp(`^${SENTENCE}[^\n]+\n$`))
  })
}, 60_000)
