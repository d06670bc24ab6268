import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { renderContract, withSettings } from '../../src/cli/contract.js'

const FOLDER = new URL('../../schema/', import.meta.url)
const contract = renderContract()

test('schema/ holds what the code promises, and nothing else', () => {
  expect(readdirSync(FOLDER).sort()).toEqual([...contract.keys()].sort())
})

test.each([...contract])('schema/%s is up to date (npm run schema)', (name, text) => {
  expect(readFileSync(new URL(name, FOLDER), 'utf8')).toBe(text)
})

test('the README lists every setting as the code has it (npm run schema)', () => {
  const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8')
  expect(readme).toContain('| `DATABASE_URL` |')
  expect(withSettings(readme)).toBe(readme)
})
