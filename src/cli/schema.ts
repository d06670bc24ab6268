import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { renderDocumentSql } from '../data/sql/json/document-sql.js'
import { parseCommandLine } from './command.js'
import { renderSchemaFiles, withSettingsTable } from './contract.js'
import { renderIndexListOfMigrations } from './index-list.js'

// npm run schema: generates the published contract and the table of settings in the README. With --document it
// prints the SQL of the stored JSON of listings instead, for the migration of a new field. With --indexes it
// generates the list of indexes from the migrations instead.

const SCHEMA_FOLDER = new URL('../../schema/', import.meta.url)
const INDEX_LIST = new URL('../data/sql/indexes.ts', import.meta.url)
const README = new URL('../../README.md', import.meta.url)

const { values } = parseCommandLine(
  `usage: npm run schema [-- --document | --indexes]

Writes schema/ and the table of settings in README.md from the code.

  --document   prints the SQL of the stored JSON of listings instead, for the migration of a new field
  --indexes    writes the list of indexes in src/data/sql/indexes.ts from the migrations instead`,
  {
    options: { document: { type: 'boolean' }, indexes: { type: 'boolean' } },
  },
)
if (values.document) process.stdout.write(renderDocumentSql())
else if (values.indexes) writeFileSync(INDEX_LIST, await renderIndexListOfMigrations())
else writeSchemaFiles()

function writeSchemaFiles(): void {
  const files = renderSchemaFiles()
  mkdirSync(SCHEMA_FOLDER, { recursive: true })
  for (const name of readdirSync(SCHEMA_FOLDER)) if (!files.has(name)) rmSync(new URL(name, SCHEMA_FOLDER))
  for (const [name, text] of files) writeFileSync(new URL(name, SCHEMA_FOLDER), text)
  writeFileSync(README, withSettingsTable(readFileSync(README, 'utf8')))
  process.stdout.write(`${files.size} files written to ${fileURLToPath(SCHEMA_FOLDER)}\n`)
}
