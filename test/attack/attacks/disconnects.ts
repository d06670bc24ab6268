import { setTimeout as wait } from 'node:timers/promises'
import { LoadClient } from '../../support/load.js'
import { type Attack, baseOf, repeat } from '../attack.js'
import { heavyRequests } from './heavy-reads.js'

const CLIENTS = 4
const MAX_PATIENCE_MS = 800

/** Clients that close their connection while the service works for them. */
export const disconnects: Attack = {
  name: 'clients that disconnect',
  expected: ['disconnected'],
  allowed: /^(disconnected|200|503)$/,
  async run(context) {
    const client = new LoadClient(baseOf(context.target), context.target.readToken)
    let next = 0
    await repeat(context, CLIENTS, async () => {
      const [target, body] = heavyRequests[next++ % heavyRequests.length]?.() ?? ['/odata']
      const sent = client.start(target, body === undefined ? {} : { method: 'POST', body })
      await wait(Math.random() * MAX_PATIENCE_MS)
      sent.abort()
      context.count((await sent.status) ?? 'disconnected')
    })
    client.close()
  },
}
