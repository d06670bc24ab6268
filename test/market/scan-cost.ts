import { type Client, escapeLiteral } from 'pg'
import type { PlanCacheMode, Statement } from '../../src/data/sql/statement.js'

/** A step of a plan, as EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) writes it: rows are those of one loop. */
interface PlanNode {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Index Name'?: string
  readonly 'Actual Rows': number
  readonly 'Actual Loops': number
  readonly 'Rows Removed by Filter'?: number
  readonly 'Rows Removed by Index Recheck'?: number
  readonly 'Shared Hit Blocks': number
  readonly 'Shared Read Blocks': number
  readonly Plans?: readonly PlanNode[]
}

/** Pages and rows that PostgreSQL reads for statements. */
export interface ScanCost {
  /** Rows that scans of tables and indexes produce or remove. */
  readonly rows: number
  readonly buffers: number
}

export const addCosts = (costs: readonly ScanCost[]): ScanCost => ({
  rows: costs.reduce((sum, { rows }) => sum + rows, 0),
  buffers: costs.reduce((sum, { buffers }) => sum + buffers, 0),
})

const nodesOf = (node: PlanNode): readonly PlanNode[] => [node, ...(node.Plans ?? []).flatMap(nodesOf)]

/** A bitmap of rows counts with the scan of the table that reads them. */
const isScan = (node: PlanNode): boolean => node['Relation Name'] !== undefined

const rowsOf = (node: PlanNode): number =>
  node['Actual Loops'] *
  (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0))

/** A statement that the service ran, and the kind of connection it ran on. */
export interface ObservedStatement extends Statement {
  readonly planCacheMode: PlanCacheMode
}

/**
 * Explains a statement as it is planned on the service's connections. A parameter of EXPLAIN itself is always
 * planned for its value, so a generic plan needs PREPARE and EXPLAIN EXECUTE.
 */
export async function explainStatement(client: Client, statement: ObservedStatement): Promise<ScanCost> {
  const { text, values, planCacheMode } = statement
  const options = '(analyze, buffers, timing off, format json)'
  await client.query(`set plan_cache_mode = force_${planCacheMode}_plan`)
  await client.query(`prepare observed as ${text}`)
  try {
    const args = values.length > 0 ? `(${values.map(toSqlLiteral).join(',')})` : ''
    const { rows } = await client.query<{ 'QUERY PLAN': readonly [{ readonly Plan: PlanNode }] }>(
      `explain ${options} execute observed${args}`,
    )
    const root = rows[0]?.['QUERY PLAN'][0].Plan
    if (!root) throw new Error('EXPLAIN gave no plan')
    return {
      rows: nodesOf(root)
        .filter(isScan)
        .map(rowsOf)
        .reduce((a, b) => a + b, 0),
      buffers: root['Shared Hit Blocks'] + root['Shared Read Blocks'],
    }
  } finally {
    await client.query('deallocate observed')
  }
}

function toSqlLiteral(value: unknown): string {
  if (value === null || value === undefined) return 'null'
  if (Array.isArray(value))
    return escapeLiteral(
      `{${value.map(item => (item === null ? 'null' : JSON.stringify(String(item)))).join(',')}}`,
    )
  return escapeLiteral(value instanceof Date ? value.toISOString() : String(value))
}
