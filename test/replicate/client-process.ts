import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { parseArgs } from 'node:util'
import { runClient, toReplicationError } from '../../src/replicate/client.js'
import { REPLICATE_OPTIONS, readSettings } from '../../src/replicate/settings.js'

/** The replication client as a process of its own. */
export interface ReplicateProcess {
  readonly child: ChildProcess
  readonly exit: Promise<number | null>
  readonly output: () => string
}

export interface ReplicateArguments {
  readonly from: string
  readonly to: string
  readonly token?: string
  readonly more?: readonly string[]
}

/** Environment and limits of a process. */
export interface ProcessLimits {
  readonly env?: Readonly<Record<string, string>>
  /** Largest size of a file in units of 512 bytes. A write beyond it fails as on a full disk. */
  readonly fileBlocks?: number
}

/** Starts `npm run replicate` without npm. The token is in the environment, as the documentation advises. */
export function startReplicate(
  { from, to, token, more = [] }: ReplicateArguments,
  { env, fileBlocks }: ProcessLimits = {},
): ReplicateProcess {
  const args = ['--from', from, '--to', to, ...more]
  const program = ['--import', './src/typescript.mjs', 'src/cli/replicate.ts', ...args]
  const [file, ...line] =
    fileBlocks === undefined
      ? [process.execPath, ...program]
      : ['sh', '-c', `ulimit -f ${fileBlocks} && exec "$@"`, 'sh', process.execPath, ...program]
  const child = spawn(file ?? '', line, {
    env: { ...process.env, ...env, ...(token !== undefined && { REPLICATE_TOKEN: token }) },
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', text => {
      output += String(text)
    })
  const exit = once(child, 'close').then(([code]) => code as number | null) // the first argument of the event
  return { child, exit, output: () => output }
}

/** The replication client in this process. */
export interface LocalClient {
  stop(): void
  /** The exit code that the command would have. */
  readonly exit: Promise<number>
  readonly output: () => string
}

/** Runs what the command runs, without the start of a process. */
export function replicateHere({ from, to, token, more = [] }: ReplicateArguments): LocalClient {
  const stop = new AbortController()
  let output = ''
  const log = (line: string) => {
    output += `${line}\n`
  }
  const run = async () => {
    const { values } = parseArgs({
      args: ['--from', from, '--to', to, ...more],
      options: REPLICATE_OPTIONS,
    })
    const settings = readSettings(values, token)
    await runClient(settings, { signal: stop.signal, log, onProgress: () => undefined })
    return 0
  }
  const exit = run().catch((error: unknown) => {
    const { message, exitCode } = toReplicationError(error)
    log(message)
    return exitCode
  })
  return { stop: () => stop.abort(), exit, output: () => output }
}

/** Runs the client with --once in this process. Returns its exit code and what it printed. */
export async function replicateOnce(
  args: ReplicateArguments,
): Promise<readonly [code: number, output: string]> {
  const { exit, output } = replicateHere({ ...args, more: ['--once', ...(args.more ?? [])] })
  return [await exit, output()]
}
