import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { FUNCTIONS } from '../../../src/query/functions.js'
import { SPECIAL_FUNCTIONS } from '../../../src/query/special-functions.js'
import { startTestApp, type TestApp } from '../../support/app.js'
import { DATABASE_KINDS } from '../../support/database.js'

// docs/language.md has an example of each function. This test runs them and finds missing ones.

const PAGE = readFileSync(new URL('../../../docs/language.md', import.meta.url), 'utf8')
const EXAMPLES = [...PAGE.matchAll(/^\| (.+?) \| `(.+)` \| (\d+) \|$/gm)].map(
  ([, name = '', filter = '', count]) => ({ name, filter, count: Number(count) }),
)

test('every operator and function has an example', () => {
  const shown = new Set(
    EXAMPLES.flatMap(({ name }) => [...name.matchAll(/`([^`]+)`/g)].map(([, text]) => text)),
  )
  expect(
    [...Object.keys(FUNCTIONS), ...Object.keys(SPECIAL_FUNCTIONS), 'any', 'all'].filter(
      name => !shown.has(name),
    ),
  ).toEqual([])
})

describe.each(DATABASE_KINDS)('on %s', kind => {
  let app: TestApp
  beforeAll(async () => {
    app = await startTestApp({ kind, fixture: 'fixture.json' })
  })
  afterAll(() => app?.close())

  test.each(EXAMPLES)('$filter selects $count', async ({ filter, count }) => {
    const { text } = await app.send(`/odata/Property/$count?$filter=${encodeURIComponent(filter)}`)
    expect(text).toBe(String(count))
  })
})
