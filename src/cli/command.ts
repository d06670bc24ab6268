import { hostname, userInfo } from 'node:os'
import { type ParseArgsConfig, parseArgs } from 'node:util'
import type { Writer } from '../domain/actor.js'
import { messageOf } from '../errors/problem.js'

/**
 * Ends a command whose arguments are invalid. Prints the first line of `usage`; `--help` prints all of it.
 */
export function exitWithUsage(usage: string, reason: string): never {
  process.stderr.write(`${reason}\n${usage.split('\n')[0]}\n`)
  process.exit(1)
}

type WithTokens<T extends ParseArgsConfig> = T & { readonly tokens: true }

/**
 * Parses the arguments of a command. The parameter is `config` of Node's parseArgs. Prints the usage for
 * `--help`, and ends the command for unknown arguments and for an option that is given twice.
 */
export function parseCommandLine<const T extends ParseArgsConfig>(
  usage: string,
  config: T,
): ReturnType<typeof parseArgs<WithTokens<T>>> {
  if (process.argv.slice(2).includes('--help')) {
    process.stdout.write(`${usage}\n`)
    process.exit(0)
  }
  try {
    const parsed = parseArgs<WithTokens<T>>({ ...config, tokens: true })
    const repeated = findRepeatedOption(config, parsed.tokens ?? [])
    if (repeated === undefined) return parsed
    return exitWithUsage(usage, `Option '--${repeated}' can be given only once.`)
  } catch (error) {
    // Only the first sentence of Node's message is printed. The others repeat the usage.
    const [reason = ''] = messageOf(error).split(/(?<=')\. |\.?\n/)
    return exitWithUsage(usage, `${reason}.`)
  }
}

/**
 * Returns the name of an option that is given twice, of which parseArgs returns the last value. Options that
 * take several values (`multiple`) can be repeated.
 */
function findRepeatedOption(
  { options }: ParseArgsConfig,
  tokens: readonly { readonly kind: string; readonly name?: string }[],
): string | undefined {
  const names = tokens.flatMap(token => (token.kind === 'option' && token.name ? [token.name] : []))
  return names.find((name, i) => names.indexOf(name) < i && options?.[name]?.multiple !== true)
}

/**
 * Checks the arguments of a command with actions: `ACTION [NAME] [OPTIONS]`.
 * @param optionsOf the options that each action takes
 * @param missingName returns the message about a missing name, or undefined if the action takes no name
 */
export function checkAction(
  usage: string,
  optionsOf: Readonly<Record<string, readonly string[]>>,
  [action = '', name, extra]: readonly string[],
  options: readonly string[],
  missingName: (action: string) => string | undefined,
): void {
  const allowed = Object.hasOwn(optionsOf, action) ? optionsOf[action] : undefined
  if (!allowed)
    exitWithUsage(usage, action === '' ? 'The action is missing.' : `There is no action '${action}'.`)
  const option = options.find(given => !allowed.includes(given))
  if (option !== undefined) exitWithUsage(usage, `The action ${action} has no option '--${option}'.`)
  const missing = missingName(action)
  const unexpected = missing === undefined ? name : extra
  if (unexpected !== undefined) exitWithUsage(usage, `Unexpected argument '${unexpected}'.`)
  if (missing !== undefined && !name) exitWithUsage(usage, missing)
}

/** Prints a warning to standard error. */
export const printWarning = (message: string): void => {
  process.stderr.write(`warning: ${message}\n`)
}

/** Runs a command, and prints the message of an error that it throws. */
export function runCommand(command: () => Promise<void>): void {
  command().catch((error: unknown) => {
    process.stderr.write(`${messageOf(error)}\n`)
    process.exitCode = 1
  })
}

/** Returns the name of the operating-system user, or the number of a user without a name, as in a container. */
export function operatingSystemUser(): string {
  try {
    return userInfo().username
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}`
  }
}

/** Returns the author of the changes of a command, with the name of the machine, for the audit log. */
export const commandWriter = (): Writer => ({
  actor: `command ${operatingSystemUser()}`,
  address: hostname(),
})
