import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { readCaseFile } from '../../support/cases.js'

/** Kinds whose every trap has a test. What those of OData ask of GraphQL stands in both-doors.test.ts. */
const KINDS: ReadonlySet<string> = new Set(
  'paging write errors protocol expand-select ordering count permissions auth-jwt database operations replication filter-null filter-syntax filter-function lambda json-types graphql'.split(
    ' ',
  ),
)
const TESTS = new URL('../../', import.meta.url)
/** What stands between the bracket of a test and its name. */
const TITLE = /(?:\b(?:test|it)|\))\(\s*(['"`])((?:(?!\1).)+)\1/g

const readTraps = () =>
  readCaseFile('traps.jsonl')
    .split('\n')
    .filter(Boolean)
    .map(line => JSON.parse(line) as { readonly id: string; readonly kind: string }) // our own file

function readTitles(): string {
  const files = readdirSync(TESTS, { recursive: true, encoding: 'utf8' }).filter(file =>
    file.endsWith('.test.ts'),
  )
  return files
    .flatMap(file => [...readFileSync(new URL(file, TESTS), 'utf8').matchAll(TITLE)].map(found => found[2]))
    .join('\n')
}

test('every trap has a test that is named by it', () => {
  const titles = readTitles()
  const wanted = readTraps().filter(({ kind }) => KINDS.has(kind))
  expect(wanted.length).toBeGreaterThan(100)
  expect(wanted.map(({ id }) => id).filter(id => !new RegExp(`\\b${id}\\b`).test(titles))).toEqual([])
  const kinds = new Set(wanted.map(({ kind }) => kind))
  expect([...KINDS].filter(kind => !kinds.has(kind))).toEqual([])
})
