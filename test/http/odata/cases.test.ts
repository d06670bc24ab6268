import { afterAll, beforeAll, describe, test } from 'vitest'
import { startTestApp, type TestApp } from '../../support/app.js'
import { readCases, runCase } from '../../support/cases.js'
import { DATABASE_KINDS } from '../../support/database.js'
import { readScenarios, runScenario } from '../../support/scenario.js'

describe.each(DATABASE_KINDS)('on the database %s', kind => {
  describe('forty listings', () => {
    let app: TestApp
    beforeAll(async () => {
      app = await startTestApp({ kind, fixture: 'fixture.json' })
    })
    afterAll(() => app.close())

    test.each(readCases('cases.jsonl'))('$id $text', async one => {
      await runCase(app, one)
    })
    test.each(readScenarios())('$id $why', scenario => runScenario(app, scenario))
  })

  describe('250 listings', () => {
    let app: TestApp
    beforeAll(async () => {
      app = await startTestApp({ kind, fixture: 'fixture-large.json' })
    })
    afterAll(() => app.close())

    test.each(readCases('cases-large.jsonl'))('$id $url', async one => {
      await runCase(app, one)
    })
  })
})
