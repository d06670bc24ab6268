import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isRequired, KEY, TABLES } from '../data/tables.mjs'

// A Prisma schema for the shared tables, and its client. Nothing is downloaded: the query engine is
// WebAssembly in the package.

export const toCamel = name => name.replace(/^[A-Z]+(?=[A-Z][a-z])|^[A-Z]+/, letters => letters.toLowerCase())

const TYPES = { s: 'String', i: 'Int', t: 'DateTime', D: 'DateTime', b: 'Boolean', c: 'String[]' }
const NATIVE = { t: ' @db.Timestamptz(3)', D: ' @db.Date' }
const nativeOf = type =>
  NATIVE[type] ?? (type.startsWith('d') ? ` @db.Decimal(${type.slice(1).replace('.', ', ')})` : '')

function toField(table, column, rename) {
  const { name, type } = column
  const optional = isRequired(table, column) ? '' : '?'
  const mapped = rename(name) === name ? '' : ` @map("${name}")`
  return `  ${rename(name)} ${TYPES[type] ?? 'Decimal'}${optional}${name === KEY[table] ? ' @id' : ''}${mapped}${nativeOf(type)}`
}

const relationsOf = n => ({
  Property: [
    `${n('Media')} Media[]`,
    `${n('Rooms')} Rooms[]`,
    `${n('ListAgent')} Member @relation(fields: [${n('ListAgentKey')}], references: [${n('MemberKey')}])`,
  ],
  Media: [
    `${n('Property')} Property @relation(fields: [${n('ResourceRecordKey')}], references: [${n('ListingKey')}], onDelete: Cascade)`,
  ],
  Rooms: [
    `${n('Property')} Property @relation(fields: [${n('ListingKey')}], references: [${n('ListingKey')}], onDelete: Cascade)`,
  ],
  Member: [`${n('Properties')} Property[]`],
})

function toSchema(rename) {
  const relations = relationsOf(rename)
  const models = Object.entries(TABLES).map(([table, columns]) => {
    const lines = [
      ...columns.map(column => toField(table, column, rename)),
      ...(relations[table] ?? []).map(line => `  ${line}`),
    ]
    return `model ${table} {\n${lines.join('\n')}\n}\n`
  })
  return `generator client {\n  provider = "prisma-client"\n  output = "./generated"\n  previewFeatures = ["relationJoins"]\n}\ndatasource db {\n  provider = "postgresql"\n}\n${models.join('\n')}`
}

/** Writes the schema, with camel-case or original names, and generates client.mjs. */
export function generateClient(cwd, env, rename = name => name) {
  mkdirSync(join(cwd, 'prisma'), { recursive: true })
  writeFileSync(join(cwd, 'prisma/schema.prisma'), toSchema(rename))
  writeFileSync(
    join(cwd, 'prisma.config.mjs'),
    `export default { schema: 'prisma/schema.prisma', datasource: { url: process.env.DATABASE_URL } }\n`,
  )
  // `generate` requires an engine file but does not use it. Any existing file is accepted.
  const quiet = {
    ...env,
    PRISMA_SCHEMA_ENGINE_BINARY: process.execPath,
    PRISMA_HIDE_UPDATE_MESSAGE: '1',
    CHECKPOINT_DISABLE: '1',
  }
  const bundle = [
    'prisma/generated/client.ts',
    '--bundle',
    '--format=esm',
    '--platform=node',
    '--packages=external',
    '--outfile=client.mjs',
    '--log-level=error',
  ]
  for (const [program, args] of [
    ['prisma', ['generate', '--no-hints']],
    ['esbuild', bundle],
  ]) {
    const { status, stdout, stderr } = spawnSync(join('node_modules/.bin', program), args, {
      cwd,
      env: quiet,
      encoding: 'utf8',
    })
    if (status !== 0) throw new Error(stdout + stderr)
  }
}
