import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'

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

/** Starts `npm run replicate` without npm. The token is in the environment, as the documentation advises. */
export function startReplicate({ from, to, token, more = [] }: ReplicateArguments): ReplicateProcess {
  const program = [
    '--import',
    './src/typescript.mjs',
    'src/cli/replicate.ts',
    '--from',
    from,
    '--to',
    to,
    ...more,
  ]
  const child = spawn(process.execPath, program, {
    env: { ...process.env, ...(token !== undefined && { REPLICATE_TOKEN: token }) },
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', text => {
      output += String(text)
    })
  const exit = once(child, 'close').then(([code]) => code as number | null) // the first argument of the event
  return { child, exit, output: () => output }
}

/** Runs the client with --once. Returns its exit code and what it printed. */
export async function replicateOnce(
  args: ReplicateArguments,
): Promise<readonly [code: number | null, output: string]> {
  const { exit, output } = startReplicate({ ...args, more: ['--once', ...(args.more ?? [])] })
  return [await exit, output()]
}
