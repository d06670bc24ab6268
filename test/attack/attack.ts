/** The service under attack, and the credentials of the attacker. */
export interface Target {
  readonly port: number
  /** Token of the public audience that may only read. */
  readonly readToken: string
  /** Token of the public audience that may also change its own listings. Same client as `readToken`. */
  readonly writeToken: string
  /** Token signed with a key of the key server. Same client as `readToken`. */
  readonly keyServerToken: string
  /** Token whose key the key server does not have. */
  readonly unknownKeyToken: string
  /** Agent that `writeToken` acts for, and the agent's office. */
  readonly memberKey: string
  readonly officeKey: string
}

/** Something that an attacker does until the time is over. */
export interface Attack {
  readonly name: string
  /** Outcomes that must occur. Without them the attack did not reach its target. */
  readonly expected: readonly string[]
  /** Matches every outcome that is allowed. */
  readonly allowed: RegExp
  run(context: AttackContext): Promise<void>
}

/** Time and tally of a running attack. */
export interface AttackContext {
  readonly target: Target
  readonly isOver: () => boolean
  /** Counts an outcome: a status, or the end of a connection. */
  readonly count: (outcome: string | number | undefined) => void
}

/** Number of occurrences of each outcome of an attack. */
export type Outcomes = Readonly<Record<string, number>>

export const baseOf = ({ port }: Pick<Target, 'port'>): string => `http://127.0.0.1:${port}`

/** Runs an action in a number of loops until the time is over. */
export async function repeat(
  { isOver }: Pick<AttackContext, 'isOver'>,
  loops: number,
  action: (loop: number) => Promise<void>,
): Promise<void> {
  const loop = async (_: unknown, index: number): Promise<void> => {
    while (!isOver()) await action(index)
  }
  await Promise.all(Array.from({ length: loops }, loop))
}
