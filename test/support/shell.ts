import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { TestDatabase } from './database.js'

/** Written after each response. It is blank, since commands may parse the response as JSON. */
const SEPARATOR = '\t\t\t\n'

/** `curl` fails if the HTTP status is 400 or above, and ends a stream (`-N`) after six seconds. */
const CURL = String.raw`
curl() {
  case " $* " in *" -N "*) set -- --max-time 6 "$@";; esac
  command curl --fail-with-body "$@" || [ $? -eq 28 ]
  printf '\t\t\t\n'
}`

/**
 * Runs lines of documentation in a shell and returns the body of each response that `curl` prints. A command that
 * fails is an error.
 */
export async function runShell(
  lines: string,
  env: Readonly<Record<string, string | undefined>> = {},
): Promise<readonly string[]> {
  const script = `set -e -o pipefail${CURL}\n${lines}\n`
  const { stdout } = await promisify(execFile)('bash', ['-c', script], { env: { ...process.env, ...env } })
  return stdout
    .split(SEPARATOR)
    .map(body => body.trim())
    .filter(body => body !== '')
}

/** The end of a command. */
export interface CommandResult {
  readonly code: unknown
  readonly out: string
  readonly err: string
}

/** Runs a program of src/cli on the database of a test, with no other settings than `env`. */
export function runProgram(
  { settings }: Pick<TestDatabase, 'settings'>,
  program: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<CommandResult> {
  const { dataDir, databaseUrl = '' } = settings
  const variables = { PATH: process.env['PATH'], DATA_DIR: dataDir, DATABASE_URL: databaseUrl, ...env }
  return new Promise(resolve => {
    execFile(
      process.execPath,
      ['--import', './src/typescript.mjs', `src/cli/${program}`, ...args],
      { env: variables },
      (error, out, err) => resolve({ code: error?.code ?? 0, out, err }),
    )
  })
}
