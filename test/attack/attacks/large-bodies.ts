import { request } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'
import { type Attack, type AttackContext, baseOf, repeat } from '../attack.js'

/** Without a pause the time to receive the bytes would be measured. */
const PAUSE_MS = 1000

/** A body with very many small parts. */
interface LargeBody {
  readonly path: string
  readonly contentType: string
  readonly content: string
}

const emptyRequests: LargeBody = {
  path: '/odata/$batch',
  contentType: 'application/json',
  content: `{"requests":[${'{},'.repeat(1_000_000)}{}]}`,
}
const headerLines: LargeBody = {
  path: '/odata/$batch',
  contentType: 'multipart/mixed; boundary=b',
  content: `--b\r\nContent-Type: application/http\r\n${'a:b\r\n'.repeat(600_000)}\r\n--b--\r\n`,
}
const unknownMembers: LargeBody = {
  path: '/odata/Property',
  contentType: 'application/json',
  content: `{${Array.from({ length: 90_000 }, (_, i) => `"m${i}":1`).join(',')}}`,
}

const send = ({ target }: AttackContext, { path, contentType, content }: LargeBody) =>
  new Promise<number | string>(resolve => {
    const headers = {
      Authorization: `Bearer ${target.writeToken}`,
      'Content-Type': contentType,
      'Content-Length': content.length,
    }
    const req = request(baseOf(target) + path, { method: 'POST', headers }, res => {
      res.resume().on('end', () => resolve(res.statusCode ?? 'no answer'))
    })
    req.on('error', () => resolve('closed'))
    req.end(content)
  })

const largeBody = (name: string, body: LargeBody): Attack => ({
  name,
  expected: ['400'],
  // A write waits for a connection like the other requests of this client.
  allowed: /^(400|503)$/,
  run: context =>
    repeat(context, 1, async () => {
      const outcome = await send(context, body)
      if (!context.isOver()) context.count(outcome)
      await wait(PAUSE_MS)
    }),
})

export const largeBodies: readonly Attack[] = [
  largeBody('JSON batch of 1,000,000 {}', emptyRequests),
  largeBody('600,000 multipart header lines', headerLines),
  largeBody('90,000 unknown members', unknownMembers),
]
