import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readUsage } from '../../src/data/clients/client-usage.js'
import { UsageRecorder } from '../../src/service/clients/usage-recorder.js'
import { DATABASE_KINDS } from '../support/database.js'
import { basic, type PartnerApp, startPartnerApp } from '../support/partners.js'

const MAX_WAIT_MS = 25_000

describe.each(DATABASE_KINDS)('the usage of clients on the %s database', kind => {
  let app: PartnerApp
  beforeAll(async () => {
    app = await startPartnerApp({ kind })
  })
  afterAll(() => app?.close())

  const usageOf = (clientId: string) => readUsage(app.database, { days: 1, clientId })

  test('requests over both adapters, and the last use of the client and of its secret', async () => {
    const client = await app.addClient()
    const token = await app.tokenOf(client)
    for (let i = 0; i < 3; i++)
      await app.send('/odata/Property?$top=1', { headers: { Authorization: `Bearer ${token}` } })
    await app.send('/graphql', {
      method: 'POST',
      headers: { Authorization: basic(client) },
      body: { query: '{ __typename }' },
    })
    await app.send('/odata/Property', { headers: { Authorization: basic({ ...client, secret: 'wrong' }) } })
    // The helper has requested the service document until the service had read the client.
    await expect
      .poll(() => usageOf(client.id), { timeout: MAX_WAIT_MS, interval: 500 })
      .toEqual([
        {
          day: expect.stringMatching(/^\d{4}-\d\d-\d\d$/),
          clientId: client.id,
          name: 'Partner',
          requests: 5,
          refused: 0,
          rows: 0,
        },
      ])
    const shown = await app.clients.find(client.id)
    expect(Date.parse(shown.LastUsedTimestamp ?? '')).toBeGreaterThan(Date.now() - 10 * MAX_WAIT_MS)
    expect(shown.Secrets.map(({ LastUsedTimestamp }) => LastUsedTimestamp)).toEqual([expect.any(String)])
  }, 60_000)

  test('a client without a request has no usage, and its last use is not a change of the client', async () => {
    const { client } = await app.clients.add({ Name: 'Idle', AudienceClass: 'public' })
    const recorder = new UsageRecorder(app.database)
    const [version] = await app.database.queryControl<{ v: string }>({
      text: 'select "Version"::text as v from "admin"."Client" where "ClientId" = $1',
      values: [client.ClientId],
    })
    expect(await usageOf(client.ClientId)).toEqual([])
    recorder.noteSecret(client.Secrets[0]?.SecretId ?? '')
    await recorder.close()
    expect((await app.clients.find(client.ClientId)).Secrets[0]?.LastUsedTimestamp).toEqual(
      expect.any(String),
    )
    const [after] = await app.database.queryControl<{ v: string }>({
      text: 'select "Version"::text as v from "admin"."Client" where "ClientId" = $1',
      values: [client.ClientId],
    })
    expect(after).toEqual(version)
  })

  test('counts of two processes are added up, and refused requests are counted separately', async () => {
    const { client } = await app.clients.add({ Name: 'Busy', AudienceClass: 'public' })
    const recorders = [new UsageRecorder(app.database), new UsageRecorder(app.database)]
    for (const recorder of recorders) {
      recorder.add(client.ClientId, { requests: 1 })
      recorder.add(client.ClientId, { refused: 1 })
    }
    await Promise.all(recorders.map(recorder => recorder.close()))
    expect(await usageOf(client.ClientId)).toMatchObject([{ requests: 2, refused: 2 }])
  })

  test('CLI-08 a thousand requests are one statement, and stay in memory while the database is unavailable', async () => {
    const { client } = await app.clients.add({ Name: 'Outage', AudienceClass: 'public' })
    let isAway = true
    let statements = 0
    const recorder = new UsageRecorder({
      queryControl: statement => {
        if (isAway) return Promise.reject(new Error('connection refused'))
        statements += 1
        return app.database.queryControl(statement)
      },
    })
    for (let i = 0; i < 1000; i++) recorder.add(client.ClientId, { requests: 1 })
    await recorder.close()
    isAway = false
    recorder.add(client.ClientId, { requests: 1 })
    await recorder.close()
    expect(await usageOf(client.ClientId)).toMatchObject([{ requests: 1001 }])
    expect(statements).toBe(1)
  })
})
