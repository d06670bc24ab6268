import type { Connection } from '../../src/data/sql/statement.js'

/** A step of a plan, as EXPLAIN (ANALYZE, FORMAT JSON) writes it: rows are those of one loop. */
interface Step {
  readonly 'Node Type': string
  readonly 'Index Name'?: string
  readonly 'Relation Name'?: string
  readonly 'Actual Rows': number
  readonly 'Actual Loops': number
  readonly 'Rows Removed by Filter'?: number
  readonly 'Rows Removed by Index Recheck'?: number
  readonly Plans?: readonly Step[]
}

/** What PostgreSQL did to answer. */
export interface Work {
  readonly indexes: readonly string[]
  /** Kinds of steps: `Seq Scan`, `Sort` and so on. */
  readonly steps: readonly string[]
  /** Rows of tables that were looked at, those that a filter took out included. */
  readonly rowsRead: number
}

const stepsOf = (step: Step): readonly Step[] => [step, ...(step.Plans ?? []).flatMap(stepsOf)]

const rowsOf = (step: Step): number =>
  step['Relation Name'] === undefined
    ? 0
    : step['Actual Loops'] *
      (step['Actual Rows'] +
        (step['Rows Removed by Filter'] ?? 0) +
        (step['Rows Removed by Index Recheck'] ?? 0))

/** Runs what reads, and each of its statements once more to see what PostgreSQL does for it. */
export async function workOf(
  connection: Connection,
  read: (watched: Connection) => Promise<unknown>,
): Promise<Work> {
  const steps: Step[] = []
  await read({
    async query(statement, planning) {
      const { text, values } = statement
      const [explained] = await connection.query<{ 'QUERY PLAN': readonly { Plan: Step }[] }>(
        { text: `explain (analyze, format json) ${text}`, values },
        planning,
      )
      steps.push(...(explained?.['QUERY PLAN'] ?? []).flatMap(({ Plan }) => stepsOf(Plan)))
      return connection.query(statement, planning)
    },
  })
  return {
    indexes: steps.map(step => step['Index Name']).filter(name => name !== undefined),
    steps: steps.map(step => step['Node Type']),
    rowsRead: steps.map(rowsOf).reduce((a, b) => a + b, 0),
  }
}
