import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { renderSchemaFiles, withSettingsTable } from '../../../src/cli/contract.js'
import { FUNCTIONS } from '../../../src/query/functions.js'

const FOLDER = new URL('../../../schema/', import.meta.url)
const read = (path: string) => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8')
const contract = renderSchemaFiles()

test('schema/ has exactly the files that the code generates', () => {
  expect(readdirSync(FOLDER).sort()).toEqual([...contract.keys()].sort())
})

test.each([...contract])('schema/%s is up to date (npm run schema)', (name, text) => {
  expect(read(`schema/${name}`)).toBe(text)
})

test('the README lists every setting as the code has it (npm run schema)', () => {
  const readme = read('README.md')
  expect(readme).toContain('| `DATABASE_URL` |')
  expect(withSettingsTable(readme)).toBe(readme)
})

test('docs/odata.md names every function', () => {
  const named = new Set(read('docs/odata.md').match(/[a-z.]+/g))
  expect(Object.keys(FUNCTIONS).filter(name => name !== 'negate' && !named.has(name))).toEqual([])
})
