import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { cpus, totalmem } from 'node:os'
import { psql } from './data/cluster.mjs'
import { WORKLOADS } from './workloads.mjs'

const SUMMARY = new URL('../docs/performance.md', import.meta.url)
const DETAILS = new URL('../docs/benchmark.md', import.meta.url)
const [BEGIN, END] = ['<!-- bench -->', '<!-- /bench -->']

function median(list) {
  const sorted = list.filter(Number.isFinite).sort((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}

/**
 * Columns of the tables: the header, and the figure of one run. Those with an x are relative to the limit
 * server in the same round.
 */
const COLUMNS = [
  ['per s', run => run.rate],
  ['x limit', (run, limit) => limit && run.rate / limit.rate],
  ['p50 ms', run => run.p50],
  ['p99 ms', run => run.p99],
  ['server ms', run => run.serverMs],
  ['db ms', run => run.databaseMs],
  ['x CPU', (run, limit) => limit && (run.serverMs + run.databaseMs) / (limit.serverMs + limit.databaseMs)],
  ['MB', run => run.memory],
  ['KB', run => run.kilobytes],
]

const show = x =>
  Number.isFinite(x) ? (x >= 100 ? x.toFixed(0) : x >= 10 ? x.toFixed(1) : x.toFixed(x < 0.1 ? 3 : 2)) : '-'

const toRows = results =>
  [...results]
    .filter(([, runs]) => runs.length > 0)
    .map(([name, runs]) => [
      name,
      ...COLUMNS.map(([, figure]) =>
        show(median(runs.map((run, i) => figure(run, results.get('limit')?.[i])))),
      ),
    ])

/** Renders a workload for the console. Faults follow the row. */
export function toTable(name, results) {
  const line = ([first, ...rest]) => first.padEnd(16) + rest.map(text => text.padStart(10)).join('')
  const faults = [...results].flatMap(([target, runs]) =>
    runs.flatMap(run => run.faults.map(fault => `${target}: ${fault}`)),
  )
  return [
    `\n${name}: ${WORKLOADS[name].about}`,
    line(['', ...COLUMNS.map(([head]) => head)]),
    ...toRows(results).map(line),
    ...new Set(faults),
  ].join('\n')
}

const toMarkdown = rows => rows.map(cells => `| ${cells.join(' | ')} |`).join('\n')

/** Returns the measured commit. The working folder may not be a clone. */
function readCommit() {
  try {
    return ` Commit ${execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()}.`
  } catch {
    return ''
  }
}

function toConditions({ listings, rounds, seconds, warm, connections }) {
  const [{ model }] = cpus()
  const machine = `${cpus().length} cores (${model.trim()}), ${Math.round(totalmem() / 2 ** 30)} GB`
  return `${new Date().toISOString().slice(0, 10)}, ${machine}, Node ${process.versions.node}, PostgreSQL ${psql('SHOW server_version', 'postgres').split(' ')[0]}.${readCommit()}
${listings.toLocaleString('en')} listings, ${rounds} rounds of ${seconds} s after ${warm} s of warming, ${connections} connections.
The server, the database and the load generator share the cores. Medians of the rounds.`
}

/** Renders the rate of each target in each workload as a share of the limit server's. */
function renderSummary(results) {
  const targets = [...new Set([...results.values()].flatMap(of => [...of.keys()]))].filter(
    name => name !== 'limit',
  )
  const ratioOf = (of, name) =>
    show(median((of.get(name) ?? []).map((run, i) => run.rate / of.get('limit')?.[i]?.rate)))
  const summary = [...results].map(([name, of]) => [
    name,
    show(median((of.get('limit') ?? []).map(run => run.rate))),
    ...targets.map(target => ratioOf(of, target)),
  ])
  const head = ['workload', 'limit per s', ...targets]
  return toMarkdown([head, head.map(() => '---'), ...summary])
}

/** Renders all figures of each workload. */
function renderDetails(results) {
  const columns = ['', ...COLUMNS.map(([text]) => text)]
  const head = [columns, columns.map(() => '---')]
  return [...results]
    .map(([name, of]) => `**${name}**: ${WORKLOADS[name].about}\n\n${toMarkdown([...head, ...toRows(of)])}`)
    .join('\n\n')
}

/** Writes figures between the markers of a page. The text around them is written by hand. */
function writeFigures(page, figures) {
  const text = readFileSync(page, 'utf8')
  const [before, after] = [text.slice(0, text.indexOf(BEGIN) + BEGIN.length), text.slice(text.indexOf(END))]
  writeFileSync(page, `${before}\n${figures}\n${after}`)
}

export function writeReport(results, conditions) {
  const measured = toConditions(conditions)
  writeFigures(SUMMARY, `${measured}\n\n${renderSummary(results)}`)
  writeFigures(DETAILS, `${measured}\n\n${renderDetails(results)}`)
}
