import { type ParseArgsConfig, parseArgs } from 'node:util'
import { messageOf } from '../errors/problem.js'

/** Ends the command before it does anything: what was typed cannot be used. */
export function exitWithUsage(usage: string, reason: string): never {
  process.stderr.write(`${reason}\n${usage}\n`)
  process.exit(1)
}

/**
 * What was typed, as `config` of Node's parseArgs has it. `--help`, and arguments that the command does not
 * know, end it here.
 */
export function parseCommandLine<const T extends ParseArgsConfig>(
  usage: string,
  config: T,
): ReturnType<typeof parseArgs<T>> {
  if (process.argv.slice(2).includes('--help')) {
    process.stdout.write(`${usage}\n`)
    process.exit(0)
  }
  try {
    return parseArgs(config)
  } catch (error) {
    // What follows the reason is advice; the usage says it shorter.
    const [reason = ''] = messageOf(error).split(/(?<=')\. |\.?\n/)
    return exitWithUsage(usage, `${reason}.`)
  }
}

/** Runs the work of a command; what it throws is a sentence for the person who typed it. */
export function runCommand(command: () => Promise<void>): void {
  command().catch((error: unknown) => {
    process.stderr.write(`${messageOf(error)}\n`)
    process.exitCode = 1
  })
}
