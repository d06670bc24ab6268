import type { Attack, Outcomes, Target } from './attack.js'
import { disconnects } from './attacks/disconnects.js'
import { heavyReads } from './attacks/heavy-reads.js'
import { hiddenEdits } from './attacks/hidden-edits.js'
import { keyServerOutage } from './attacks/key-server.js'
import { largeBodies } from './attacks/large-bodies.js'
import { pipelineAfterEventStream, pipelineAfterHeavyRead } from './attacks/pipelining.js'
import { upgrades } from './attacks/upgrades.js'

// Runs all attacks. A process of its own, so that its work does not delay the light client.

export const ATTACKS: readonly Attack[] = [
  pipelineAfterEventStream,
  pipelineAfterHeavyRead,
  heavyReads,
  disconnects,
  hiddenEdits,
  keyServerOutage,
  ...largeBodies,
  upgrades,
]

/** Message that starts the attacks. */
export interface StartMessage {
  readonly target: Target
  readonly seconds: number
  /** Names of the attacks to run. */
  readonly names: readonly string[]
}

/** Message that ends them: the outcomes of each attack by its name. */
export interface ResultMessage {
  readonly outcomes: Readonly<Record<string, Outcomes>>
}

async function runAttack(attack: Attack, target: Target, end: number): Promise<Outcomes> {
  const outcomes: Record<string, number> = {}
  const count = (outcome: string | number | undefined) => {
    const name = String(outcome ?? 'no answer')
    outcomes[name] = (outcomes[name] ?? 0) + 1
  }
  await attack.run({ target, isOver: () => performance.now() >= end, count })
  return outcomes
}

async function runAll({ target, seconds, names }: StartMessage): Promise<ResultMessage> {
  const end = performance.now() + seconds * 1000
  const results = ATTACKS.filter(({ name }) => names.includes(name)).map(
    async attack => [attack.name, await runAttack(attack, target, end)] as const,
  )
  return { outcomes: Object.fromEntries(await Promise.all(results)) }
}

if (process.send) {
  process.once('disconnect', () => process.exit(1))
  process.once('message', (message: StartMessage) => {
    void runAll(message).then(result => process.send?.(result, () => process.exit(0)))
  })
}
