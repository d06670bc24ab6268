import { createRequire } from 'node:module'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestApp, type TestApp } from '../../../support/app.js'
import {
  type ClientProject,
  createClientProject,
  readPublishedSchema,
} from '../../../support/clients/client-project.js'
import { readCodeBlockOfFile } from '../../../support/clients/markdown.js'

const PAGE = 'graphql-clients.md'
const require = createRequire(import.meta.url)
const STRICT = {
  strict: true,
  noUncheckedIndexedAccess: true,
  exactOptionalPropertyTypes: true,
  module: 'nodenext',
  target: 'es2023',
  types: ['node'],
  skipLibCheck: true,
  outDir: 'out',
}

let app: TestApp
let program: ClientProject
beforeAll(async () => {
  app = await startTestApp({ fixture: 'fixture.json' })
  program = createClientProject()
})
afterAll(async () => {
  program.remove()
  await app.close()
})

test('GraphQL Code Generator: the program of the page is generated for, compiled and run', {
  timeout: 120_000,
}, async () => {
  program.write('listing.graphql', readPublishedSchema())
  program.write('package.json', '{"type":"module"}')
  program.write('tsconfig.json', JSON.stringify({ compilerOptions: STRICT, include: ['src'] }))
  program.write('codegen.ts', readCodeBlockOfFile(PAGE, 'codegen.ts'))
  program.write('src/main.ts', readCodeBlockOfFile(PAGE, 'main.ts'))
  await program.run(join(program.path, 'node_modules/.bin/graphql-codegen'), ['--config', 'codegen.ts'])
  await program.run(require.resolve('typescript/bin/tsc'), ['-p', '.'])
  const out = await program.run('out/main.js', [], {
    SERVICE: app.base,
    TOKEN: app.tokenFor({ memberKey: 'M1' }),
  })
  expect(out.trim().split('\n')).toEqual([
    'P24 400000.00 2024-08-05',
    'P25 400000.00 2024-08-05',
    'P26 400000.00 2024-08-05',
    '399999.95',
  ])
})
