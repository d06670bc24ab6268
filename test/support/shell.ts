import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

/**
 * Runs lines of documentation in a shell and returns the body of each answer that `curl` prints. A command that
 * fails, and an HTTP status of 400 or above, is an error.
 */
export async function runShell(
  lines: string,
  env: Readonly<Record<string, string | undefined>> = {},
): Promise<readonly string[]> {
  const script = `set -e -o pipefail
curl() { command curl --fail-with-body "$@"; printf '\\0'; }
${lines}
`
  const { stdout } = await promisify(execFile)('bash', ['-c', script], { env: { ...process.env, ...env } })
  return stdout
    .split('\0')
    .map(body => body.trim())
    .filter(body => body !== '')
}
