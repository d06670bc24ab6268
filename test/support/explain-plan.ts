import type { StatementExecutor } from '../../src/data/sql/statement.js'

/** A step of a plan, as EXPLAIN (ANALYZE, FORMAT JSON) writes it: rows are those of one loop. */
interface PlanNode {
  readonly 'Node Type': string
  readonly 'Index Name'?: string
  readonly 'Relation Name'?: string
  readonly 'Actual Rows': number
  readonly 'Actual Loops': number
  readonly 'Rows Removed by Filter'?: number
  readonly 'Rows Removed by Index Recheck'?: number
  readonly Plans?: readonly PlanNode[]
}

/** The work of PostgreSQL for a response. */
export interface ExplainSummary {
  readonly indexes: readonly string[]
  /** Kinds of steps: `Seq Scan`, `Sort` and so on. */
  readonly nodes: readonly string[]
  /** Rows that were read, including those that a filter removed. */
  readonly rowsRead: number
}

const planNodesOf = (step: PlanNode): readonly PlanNode[] => [
  step,
  ...(step.Plans ?? []).flatMap(planNodesOf),
]

const rowsReadBy = (step: PlanNode): number =>
  step['Relation Name'] === undefined
    ? 0
    : step['Actual Loops'] *
      (step['Actual Rows'] +
        (step['Rows Removed by Filter'] ?? 0) +
        (step['Rows Removed by Index Recheck'] ?? 0))

/** Runs a read, and explains each of its statements. */
export async function explainQueries(
  connection: StatementExecutor,
  read: (explaining: StatementExecutor) => Promise<unknown>,
): Promise<ExplainSummary> {
  const nodes: PlanNode[] = []
  await read({
    async query(statement, planning) {
      const { text, values } = statement
      const [explained] = await connection.query<{ 'QUERY PLAN': readonly { Plan: PlanNode }[] }>(
        { text: `explain (analyze, format json) ${text}`, values },
        planning,
      )
      nodes.push(...(explained?.['QUERY PLAN'] ?? []).flatMap(({ Plan }) => planNodesOf(Plan)))
      return connection.query(statement, planning)
    },
  })
  return {
    indexes: nodes.map(step => step['Index Name']).filter(name => name !== undefined),
    nodes: nodes.map(step => step['Node Type']),
    rowsRead: nodes.map(rowsReadBy).reduce((a, b) => a + b, 0),
  }
}
