// node --import ./src/env-file.mjs …: reads settings from a file, before the program of `npm start` and of every command.
// ENV_FILE names the file, or `none`; by default it is .env beside package.json, if there is one. Variables of the
// environment take precedence.
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseEnv } from 'node:util'

const { ENV_FILE: named } = process.env
const path = named || fileURLToPath(new URL('../.env', import.meta.url))

function read() {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (error.code === 'ENOENT' && !named) return undefined
    process.stderr.write(`The settings file cannot be read: ${error.message}\n`)
    process.exit(1)
  }
}

const text = named === 'none' ? undefined : read()
if (text !== undefined) {
  process.env.ENV_FILE = path
  for (const [name, value] of Object.entries(parseEnv(text))) process.env[name] ??= value
}
