import { setTimeout as wait } from 'node:timers/promises'
import { type Attack, type AttackContext, repeat } from '../attack.js'
import { RawConnection } from '../raw-connection.js'
import { heavyFilter } from './heavy-reads.js'

const CONNECTIONS = 4
const REQUESTS = 1000
const REQUESTS_AFTER_HEAVY_READ = 40
const LARGE_HEADER = `X-A: ${'x'.repeat(60_000)}`
const RECONNECT_MS = 1000
/** A service that reads nothing for this time has paused the connection. */
const PAUSE_MS = 2000
/** Longer than the duration of a heavy read. */
const MAX_WAIT_MS = 60_000
const SUBSCRIPTION = JSON.stringify({ query: 'subscription { propertyChanged { ListingKey } }' })

const message = (lines: readonly string[], body = ''): string => `${lines.join('\r\n')}\r\n\r\n${body}`

const commonLines = ({ target }: AttackContext): readonly string[] => [
  'Host: a',
  `Authorization: Bearer ${target.readToken}`,
]

/** An event stream does not end, so the service must not store later requests of its connection. */
export const pipelineAfterEventStream: Attack = {
  name: 'pipeline after an event stream',
  expected: ['stopped'],
  allowed: /^stopped$/,
  run: context =>
    repeat(context, CONNECTIONS, async () => {
      const connection = new RawConnection(context.target.port)
      await connection.write(
        message(
          [
            'POST /graphql HTTP/1.1',
            ...commonLines(context),
            'Accept: text/event-stream',
            'Content-Type: application/json',
            `Content-Length: ${SUBSCRIPTION.length}`,
          ],
          SUBSCRIPTION,
        ),
        PAUSE_MS,
      )
      const request = message(['GET /odata HTTP/1.1', ...commonLines(context), LARGE_HEADER])
      let isRead = true
      for (let i = 0; i < REQUESTS && isRead; i++) isRead = await connection.write(request, PAUSE_MS)
      // It is closed once the stream has begun, and not read before.
      context.count(isRead ? 'read to the end' : 'stopped')
      connection.destroy()
      await wait(RECONNECT_MS)
    }),
}

/** The service must pause the connection while the first request runs, and answer all of them afterwards. */
export const pipelineAfterHeavyRead: Attack = {
  name: 'pipeline after a heavy read',
  expected: ['200'],
  allowed: /^(200|503)$/,
  run: context =>
    repeat(context, CONNECTIONS, async () => {
      const connection = new RawConnection(context.target.port)
      const heavy = `GET /odata/Property?$filter=${encodeURIComponent(heavyFilter())} HTTP/1.1`
      await connection.write(message([heavy, ...commonLines(context)]), PAUSE_MS)
      const request = message(['GET /odata/Office?$top=1 HTTP/1.1', ...commonLines(context), LARGE_HEADER])
      for (let i = 0; i < REQUESTS_AFTER_HEAVY_READ; i++)
        if (!(await connection.write(request, MAX_WAIT_MS))) break
      const isAnswered = () => connection.statuses.length > REQUESTS_AFTER_HEAVY_READ || context.isOver()
      if (!(await connection.waitUntil(isAnswered, MAX_WAIT_MS))) context.count('not answered')
      for (const status of connection.statuses) context.count(status)
      connection.destroy()
    }),
}
