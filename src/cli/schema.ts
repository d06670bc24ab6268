import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { readArguments } from './command.js'
import { renderContract, withSettings } from './contract.js'

// npm run schema: writes the published contract anew, and the table of settings in the README.

const FOLDER = new URL('../../schema/', import.meta.url)
const README = new URL('../../README.md', import.meta.url)

readArguments('usage: npm run schema', {})

const files = renderContract()
mkdirSync(FOLDER, { recursive: true })
for (const name of readdirSync(FOLDER)) if (!files.has(name)) rmSync(new URL(name, FOLDER))
for (const [name, text] of files) writeFileSync(new URL(name, FOLDER), text)
writeFileSync(README, withSettings(readFileSync(README, 'utf8')))
process.stdout.write(`${files.size} files written to ${fileURLToPath(FOLDER)}\n`)
