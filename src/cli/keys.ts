import { readConfig } from '../config/config.js'
import { readSigningKeys } from '../data/clients/signing-key-store.js'
import { openDatabase } from '../data/database.js'
import { rotateSigningKey } from '../service/clients/signing-keys.js'
import { commandWriter, exitWithUsage, parseCommandLine, runCommand } from './command.js'

// npm run keys: lists and rotates the keys that sign access tokens (docs/partners.md).

const USAGE = `usage: npm run keys -- list | rotate [--now]

Lists the keys that sign access tokens, or adds a new one, which signs after ten minutes.

  --now  the new key signs immediately, and tokens of all other keys are refused`

async function main(): Promise<void> {
  const { positionals, values } = parseCommandLine(USAGE, {
    options: { now: { type: 'boolean', default: false } },
    allowPositionals: true,
  })
  const [action, unexpected] = positionals
  if (action !== 'list' && action !== 'rotate')
    exitWithUsage(USAGE, action === undefined ? 'The action is missing.' : `There is no action '${action}'.`)
  if (unexpected !== undefined) exitWithUsage(USAGE, `Unexpected argument '${unexpected}'.`)
  const config = readConfig(process.env)
  const database = await openDatabase(config, 'command')
  try {
    if (action === 'rotate') {
      const isAdded = await rotateSigningKey(database, config.signingKeyEncryption, {
        actor: commandWriter(),
        isUrgent: values.now,
      })
      if (!isAdded) process.stderr.write('A new key is already pending. No key was added.\n')
    }
    for (const key of await readSigningKeys(database)) {
      const state = key.WithdrawnTimestamp === null ? '' : ` withdrawn ${key.WithdrawnTimestamp}`
      process.stdout.write(`${key.KeyId} signs from ${key.SigningTimestamp}${state}\n`)
    }
  } finally {
    await database.close()
  }
}

runCommand(main)
