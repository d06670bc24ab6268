import { readFileSync } from 'node:fs'
import { parse } from 'graphql'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { TRANSITIONS } from '../../../src/domain/lifecycle.js'
import { startTestApp, type TestApp } from '../../support/app.js'
import { postQuery } from '../../support/clients/graphql-client.js'
import { readCodeBlocks } from '../../support/clients/markdown.js'
import { startSubscription } from '../../support/clients/subscriber.js'
import { DATABASE_KINDS } from '../../support/database.js'
import { createDrafts } from '../../support/drafts.js'

const BLOCKS = ['graphql.md', 'graphql-clients.md'].flatMap(readCodeBlocks)

/** The examples, with what follows them as JSON. */
const EXAMPLES = BLOCKS.flatMap(({ language, text }, i) => {
  const next = BLOCKS[i + 1]
  return language === 'graphql'
    ? [
        {
          name: text.trim().replace(/\s+/g, ' ').slice(0, 60),
          text,
          answer: next?.language === 'json' ? JSON.parse(next.text) : {},
        },
      ]
    : []
})
const kindOf = (text: string) => parse(text).definitions.map(d => ('operation' in d ? d.operation : ''))[0]

describe.each(DATABASE_KINDS)('docs/graphql.md on %s', kind => {
  let app: TestApp
  beforeAll(async () => {
    app = await startTestApp({ kind, fixture: 'fixture.json' })
  })
  afterAll(() => app.close())

  test.each(EXAMPLES.filter(({ text }) => kindOf(text) !== 'subscription'))(
    '$name',
    async ({ text, answer }) => {
      const { status, ...told } = await postQuery(app, text)
      expect(told).toMatchObject(answer)
      if (!answer.errors) expect([status, told.errors]).toEqual([200, undefined])
    },
  )

  test.each(EXAMPLES.filter(({ text }) => kindOf(text) === 'subscription'))('$name', async ({ text }) => {
    const watching = startSubscription<{ ListingKey: string }>(app, text, { transport: 'WebSocket' })
    const change = watching.nextChange()
    let isTold = false
    void change.then(() => {
      isTold = true
    })
    const keys: string[] = []
    while (!isTold) keys.push(...(await createDrafts(app, 'Denver', [{}])))
    expect(keys).toContain((await change).ListingKey)
    watching.dispose()
  })
})

test('the table of transitions is that of the code', () => {
  const page = readFileSync(new URL('../../../docs/graphql.md', import.meta.url), 'utf8')
  const rows = TRANSITIONS.map(
    ({ name, from, to, requires }) =>
      `| \`${name}\` | ${from.join(', ')} | ${to} | ${requires.map(field => `\`${field}\``).join(', ')} |`,
  )
  expect(page).toContain(rows.join('\n'))
})

test('the code in docs/graphql-clients.md is the code that tests run', () => {
  const code = ['apollo', 'urql', 'socket', 'event-stream']
    .map(name => readFileSync(new URL(`clients/${name}.ts`, import.meta.url), 'utf8').replace(/\s+/g, ' '))
    .join()
  const shown = readCodeBlocks('graphql-clients.md').filter(
    ({ language, file }) => language === 'ts' && file === undefined,
  )
  expect(shown.length).toBeGreaterThan(5)
  expect(shown.filter(({ text }) => !code.includes(text.replace(/\s+/g, ' ').trim()))).toEqual([])
})
