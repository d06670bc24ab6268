import type { Client } from 'pg'
import type { Statement, StatementExecutor } from '../../src/data/sql/statement.js'

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

const summarize = (nodes: readonly PlanNode[]): ExplainSummary => ({
  indexes: nodes.map(step => step['Index Name']).filter(name => name !== undefined),
  nodes: nodes.map(step => step['Node Type']),
  rowsRead: nodes.map(rowsReadBy).reduce((a, b) => a + b, 0),
})

interface ExplainedRow {
  readonly 'QUERY PLAN': readonly { readonly Plan: PlanNode }[]
}

const nodesOf = (row: ExplainedRow | undefined): readonly PlanNode[] =>
  (row?.['QUERY PLAN'] ?? []).flatMap(({ Plan }) => planNodesOf(Plan))

/** Runs a read, and explains each of its statements with a plan for its values. */
export async function explainQueries(
  connection: StatementExecutor,
  read: (explaining: StatementExecutor) => Promise<unknown>,
): Promise<ExplainSummary> {
  const nodes: PlanNode[] = []
  await read({
    async query(statement, planning) {
      const { text, values } = statement
      const [explained] = await connection.query<ExplainedRow>(
        { text: `explain (analyze, format json) ${text}`, values },
        planning,
      )
      nodes.push(...nodesOf(explained))
      return connection.query(statement, planning)
    },
  })
  return summarize(nodes)
}

/** Runs a statement with its generic plan, and explains it. */
export async function explainGenericPlan(
  client: Client,
  { text, values }: Statement,
): Promise<ExplainSummary> {
  await client.query(`set plan_cache_mode = force_generic_plan; prepare explained as ${text}`)
  const list = values.map(value => client.escapeLiteral(String(value))).join()
  const explained = await client.query<ExplainedRow>(
    `explain (analyze, format json) execute explained${list && `(${list})`}`,
  )
  await client.query('deallocate explained; reset plan_cache_mode')
  return summarize(nodesOf(explained.rows[0]))
}
