import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'

/** The service as a process of its own, as `npm start` runs it. */
export interface ServiceProcess {
  readonly child: ChildProcess
  readonly port: Promise<number>
  /** The output so far. */
  readonly output: { out: string; err: string }
  /** The exit code, when it has ended. */
  readonly exit: Promise<number | null>
  /** Waits for output that matches, and returns the first group. */
  waitForOutput(pattern: RegExp): Promise<string>
}

/** Options of the start of a service. */
export interface SpawnOptions {
  /** Runs it in its own process group, as a shell does. */
  readonly detached?: boolean
  /** Under another user of the operating system. */
  readonly uid?: number
}

/** Starts the program. Only PATH is passed on from the environment. */
export function spawnService(
  env: Readonly<Record<string, string>>,
  options: SpawnOptions = {},
): ServiceProcess {
  const child = spawn(process.execPath, ['--import', './src/typescript.mjs', 'src/main.ts'], {
    env: { PATH: process.env['PATH'], PORT: '0', ...env },
    ...options,
  })
  const output = { out: '', err: '' }
  child.stdout.setEncoding('utf8').on('data', text => {
    output.out += text
  })
  child.stderr.setEncoding('utf8').on('data', text => {
    output.err += text
  })
  const exit = once(child, 'exit').then(([code]) => code as number | null) // the first argument of the event
  const waitForOutput = async (pattern: RegExp): Promise<string> => {
    for (;;) {
      const found = pattern.exec(output.out)
      if (found) return found[1] ?? ''
      if (child.exitCode !== null || child.signalCode !== null) throw new Error(output.err)
      await new Promise(resolve => setTimeout(resolve, 20))
    }
  }
  const port = waitForOutput(/"port":(\d+),"msg":"listening"/).then(Number)
  // Rejects the wait for the port. A process that is expected to fail has no port.
  port.catch(() => undefined)
  return { child, port, output, exit, waitForOutput }
}
