import { randomBytes } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { WebSocket } from 'ws'
import { type Attack, type AttackContext, repeat } from '../attack.js'
import { RawConnection } from '../raw-connection.js'

const MAX_WAIT_MS = 30_000
const PATH = '/odata/Office?$top=1'

const lines = (...all: readonly string[]): string => `${all.join('\r\n')}\r\n\r\n`

async function statusesOf({ target }: AttackContext, text: string, count: number): Promise<string> {
  const connection = new RawConnection(target.port)
  await connection.write(text, MAX_WAIT_MS)
  await connection.waitUntil(() => connection.statuses.length >= count, MAX_WAIT_MS)
  connection.destroy()
  return connection.statuses.join(', ')
}

/** A request, and one that offers HTTP/2. Both are answered in HTTP/1.1. */
async function offerHttp2(context: AttackContext): Promise<void> {
  const get = [`GET ${PATH} HTTP/1.1`, 'Host: a', `Authorization: Bearer ${context.target.readToken}`]
  const offer = ['Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABkAAQAAP__']
  context.count(`h2c: ${await statusesOf(context, lines(...get) + lines(...get, ...offer), 2)}`)
}

/** A request, and a handshake. The response to the request comes first. */
async function openSocketAfterRequest(context: AttackContext): Promise<void> {
  const get = lines(`GET ${PATH} HTTP/1.1`, 'Host: a', `Authorization: Bearer ${context.target.readToken}`)
  const handshake = lines(
    'GET /graphql HTTP/1.1',
    'Host: a',
    'Connection: Upgrade',
    'Upgrade: websocket',
    'Sec-WebSocket-Version: 13',
    'Sec-WebSocket-Protocol: graphql-transport-ws',
    `Sec-WebSocket-Key: ${randomBytes(16).toString('base64')}`,
  )
  context.count(`handshake: ${await statusesOf(context, get + handshake, 2)}`)
}

/** A message that only a server may send. */
const sendNextMessage = (context: AttackContext): Promise<void> =>
  new Promise(resolve => {
    const socket = new WebSocket(`ws://127.0.0.1:${context.target.port}/graphql`, 'graphql-transport-ws')
    const settle = (outcome: string) => {
      clearTimeout(timer)
      context.count(outcome)
      resolve()
    }
    const timer = setTimeout(() => {
      socket.terminate()
      settle('next message: no close')
    }, MAX_WAIT_MS)
    socket.on('open', () => socket.send('{"type":"next","id":"1","payload":{}}'))
    socket.on('close', code => settle(`next message: ${code}`))
    socket.on('error', () => undefined)
  })

async function sendTwoTokens(context: AttackContext): Promise<void> {
  const authorization = `Authorization: Bearer ${context.target.readToken}`
  const get = lines(`GET ${PATH} HTTP/1.1`, 'Host: a', authorization, 'Authorization: Bearer x')
  context.count(`two tokens: ${await statusesOf(context, get, 1)}`)
}

export const upgrades: Attack = {
  name: 'h2c, WebSockets, two tokens',
  expected: ['h2c: 200, 200', 'handshake: 200, 101', 'next message: 4400', 'two tokens: 401'],
  allowed: /^(h2c: (200|503), (200|503)|handshake: (200|503), 101|next message: 4400|two tokens: 401)$/,
  run: context =>
    repeat(context, 1, async () => {
      await offerHttp2(context)
      await openSocketAfterRequest(context)
      await sendNextMessage(context)
      await sendTwoTokens(context)
      await wait(1000)
    }),
}
