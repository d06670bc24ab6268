import { setTimeout as wait } from 'node:timers/promises'
import { LoadClient } from '../../support/load.js'
import { type Attack, type AttackContext, baseOf, repeat } from '../attack.js'
import { openSubscriptions } from '../subscriptions.js'

const WRITERS = 2
const DRAFT = { PropertyType: 'Land', StreetNumber: '1', StreetName: 'Elm', City: 'Waco', ListPrice: 1 }

/** Creates a draft. The service refuses it while the other requests of this client use its connections. */
async function createDraft(context: AttackContext): Promise<string> {
  const { target, isOver } = context
  while (!isOver()) {
    const response = await fetch(`${baseOf(target)}/odata/Property`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${target.writeToken}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ ...DRAFT, ListAgentKey: target.memberKey, ListOfficeKey: target.officeKey }),
    })
    const { ListingKey } = (await response.json()) as { ListingKey?: string } // an error has none
    if (ListingKey !== undefined) return ListingKey
    context.count(response.status)
  }
  return ''
}

/** Edits of drafts while readers who may not see them hold subscriptions. */
export const hiddenEdits: Attack = {
  name: 'edits of hidden listings',
  expected: ['200'],
  // A write waits for the transactions of other programs, and may be refused then.
  allowed: /^(200|503)$/,
  async run(context) {
    const closeSubscriptions = openSubscriptions(context, context.target.readToken)
    const client = new LoadClient(baseOf(context.target), context.target.writeToken)
    const keys = await Promise.all(Array.from({ length: WRITERS }, () => createDraft(context)))
    let price = 1
    await repeat(context, WRITERS, async writer => {
      const body = { ListPrice: ++price, ChangedByMemberKey: context.target.memberKey }
      const { status } = await client.time(`/odata/Property('${keys[writer]}')`, { method: 'PATCH', body })
      context.count(status)
      await wait(20)
    })
    closeSubscriptions()
    client.close()
  },
}
