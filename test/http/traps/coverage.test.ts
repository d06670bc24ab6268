import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { readCaseFile } from '../../support/cases.js'

/**
 * Kinds of traps that must all have a test. Traps of OData that apply to GraphQL are in
 * adapters-agree.test.ts.
 */
const KINDS: ReadonlySet<string> = new Set(
  'paging write errors protocol expand-select ordering count permissions auth-jwt database operations replication filter-null filter-syntax filter-function lambda json-types graphql'.split(
    ' ',
  ),
)
const TESTS = new URL('../../', import.meta.url)
/** Matches the title of a test. */
const TITLE = /(?:\b(?:test|it)|\))\(\s*(['"`])((?:(?!\1).)+)\1/g

const readTraps = (file: string) =>
  readCaseFile(file)
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

test('every trap of replication has a test with its id', () => {
  const titles = readTitles()
  const ids = readTraps('traps-replication.jsonl')
    .filter(({ kind }) => ['replication-log', 'replication-delta', 'replicate-client'].includes(kind))
    .map(({ id }) => id)
  expect(ids.filter(id => !new RegExp(`\\b${id}\\b`).test(titles))).toEqual([])
})

test('every trap of digests and of Field has a test with its id', () => {
  const titles = readTitles()
  const ids = readTraps('traps-replication.jsonl')
    .filter(({ kind }) => kind === 'digest' || kind === 'field-resource')
    .map(({ id }) => id)
  expect(ids).toHaveLength(7)
  expect(ids.filter(id => !new RegExp(`\\b${id}\\b`).test(titles))).toEqual([])
})

test('every trap of exports, omit-values and key sweeps has a test with its id', () => {
  const titles = readTitles()
  const ids = readTraps('traps-replication.jsonl')
    .filter(({ kind }) => ['export', 'omit-nulls', 'key-sweep'].includes(kind))
    .map(({ id }) => id)
  expect(ids).toHaveLength(15)
  expect(ids.filter(id => !new RegExp(`\\b${id}\\b`).test(titles))).toEqual([])
})

test('every trap has a test with its id', () => {
  const titles = readTitles()
  const wanted = readTraps('traps.jsonl').filter(({ kind }) => KINDS.has(kind))
  expect(wanted.length).toBeGreaterThan(100)
  expect(wanted.map(({ id }) => id).filter(id => !new RegExp(`\\b${id}\\b`).test(titles))).toEqual([])
  const kinds = new Set(wanted.map(({ kind }) => kind))
  expect([...KINDS].filter(kind => !kinds.has(kind))).toEqual([])
})
