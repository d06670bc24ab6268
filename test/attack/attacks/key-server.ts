import { setTimeout as wait } from 'node:timers/promises'
import { LoadClient } from '../../support/load.js'
import { type Attack, type AttackContext, baseOf, repeat } from '../attack.js'
import { openSubscriptions } from '../subscriptions.js'

/** Holds sockets whose tokens depend on the key server, and reads with such tokens. */
export const keyServerOutage: Attack = {
  name: 'key server down or endless',
  // 401 while the key server answers. 503 while it does not, since the key may exist.
  expected: ['200', 'unknown key: 401', 'unknown key: 503'],
  allowed: /^(200|503|unknown key: (401|503))$/,
  async run(context: AttackContext) {
    const { target, count } = context
    const closeSubscriptions = openSubscriptions(context, target.keyServerToken)
    const [known, unknown] = [target.keyServerToken, target.unknownKeyToken].map(
      token => new LoadClient(baseOf(target), token),
    )
    await repeat(context, 1, async () => {
      count((await known?.time('/odata/Office?$top=1'))?.status)
      count(`unknown key: ${(await unknown?.time('/odata/Office?$top=1'))?.status}`)
      await wait(200)
    })
    known?.close()
    unknown?.close()
    closeSubscriptions()
  },
}
