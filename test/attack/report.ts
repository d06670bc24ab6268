import type { ChildProcess } from 'node:child_process'
import { percentile } from '../support/load.js'
import type { Attack, Outcomes } from './attack.js'
import { type LightResponse, PATCH } from './light-client.js'
import type { MemorySample } from './observation.js'

/** A row of the table. `isMet` is undefined if there is no demand. */
export interface Check {
  readonly name: string
  readonly measured: string
  readonly demanded: string
  readonly isMet?: boolean
}

const MAX_GROWTH = 1.5
const MINUTE_MS = 60_000
const LAST_MS = 10_000

export function checkLight(responses: readonly LightResponse[], maxP99Ms: number): readonly Check[] {
  const names = [...new Set(responses.map(({ name }) => name))]
  return names.map(name => {
    const own = responses.filter(response => response.name === name)
    const [p50, p99] = [0.5, 0.99].map(part => Math.round(percentile(own, part)))
    return {
      name: `light client, ${name}`,
      measured: `${own.length} requests, p50 ${p50} ms, p99 ${p99} ms`,
      demanded: `p99 below ${maxP99Ms} ms`,
      isMet: p99 !== undefined && p99 < maxP99Ms && own.length > 0,
    }
  })
}

export function checkRefusals(responses: readonly LightResponse[]): Check {
  const refused = responses.filter(({ status }) => status !== 200)
  const statuses = [...new Set(refused.map(({ name, status }) => `${name} ${status || 'no answer'}`))]
  return {
    name: 'light client, refusals',
    measured: [refused.length, ...statuses].join(', '),
    demanded: 'none',
    isMet: refused.length === 0,
  }
}

/** A write waits at most for the end of the transaction of another program. */
export function checkHeldWrites(responses: readonly LightResponse[], maxMs: number): Check {
  const slowest = Math.round(Math.max(0, ...responses.map(({ ms }) => ms)))
  return {
    name: `light client, ${PATCH} beside a held transaction`,
    measured: `${responses.length} requests, at most ${slowest} ms`,
    demanded: `below ${maxMs} ms`,
    isMet: responses.length > 0 && slowest < maxMs,
  }
}

export function checkMemory(samples: readonly MemorySample[]): Check {
  const [from, to] = [samples[0]?.at ?? 0, samples.at(-1)?.at ?? 0]
  const firstPart = Math.min(MINUTE_MS, (to - from) / 2)
  const peak = (wanted: (at: number) => boolean): number =>
    Math.max(...samples.filter(({ at }) => wanted(at)).map(({ megabytes }) => megabytes))
  const first = peak(at => at - from <= firstPart)
  const last = peak(at => to - at <= LAST_MS)
  return {
    name: 'memory (RSS)',
    measured: `${Math.round(first)} MB at first, ${Math.round(last)} MB at the end, ratio ${(last / first).toFixed(2)}`,
    demanded: `at most ${MAX_GROWTH} times`,
    isMet: last <= MAX_GROWTH * first,
  }
}

export function checkReadiness(statuses: readonly number[]): Check {
  const failed = statuses.filter(status => status !== 200)
  return {
    name: '/health/ready',
    measured: `${statuses.length} probes, ${failed.length} not 200 ${[...new Set(failed)].join(' ')}`.trim(),
    demanded: 'always 200',
    isMet: failed.length === 0 && statuses.length > 0,
  }
}

/** Returns the row of an attack, which must have reached its target and had no unexpected outcome. */
export function checkAttack({ name, expected, allowed }: Attack, outcomes: Outcomes): Check {
  const entries = Object.entries(outcomes).sort(([a], [b]) => (a < b ? -1 : 1))
  return {
    name: `attack: ${name}`,
    measured: entries.map(([outcome, count]) => `${outcome} × ${count}`).join('; ') || 'nothing',
    demanded: `some ${expected.join('; ')}`,
    isMet:
      expected.every(outcome => (outcomes[outcome] ?? 0) > 0) &&
      entries.every(([outcome]) => allowed.test(outcome)),
  }
}

export const checkCount = (
  name: string,
  count: number,
  { min = 0, max }: { readonly min?: number; readonly max: number },
): Check => ({
  name,
  measured: String(count),
  demanded: max === min ? String(max) : `${min} to ${max}`,
  isMet: count >= min && count <= max,
})

/** The process must not have been restarted. */
export const checkRunning = ({ exitCode, signalCode, pid }: ChildProcess): Check => ({
  name: 'restarts',
  measured:
    exitCode === null && signalCode === null ? '0' : `process ${pid} ended: ${exitCode ?? signalCode}`,
  demanded: 'none',
  isMet: exitCode === null && signalCode === null,
})

/** Shows a machine that is too busy to run the light client on time. */
export const showDelay = (milliseconds: number): Check => ({
  name: 'delay of the light client itself, p99',
  measured: `${Math.round(milliseconds)} ms`,
  demanded: '',
})

/** The number of faults, and the first of them. */
export const checkNone = (name: string, faults: readonly string[]): Check => ({
  name,
  measured: faults.length === 0 ? '0' : `${faults.length}, first: ${faults[0]?.slice(0, 300)}`,
  demanded: 'none',
  isMet: faults.length === 0,
})

export function renderChecks(checks: readonly Check[]): string {
  const columns = checks.map(({ name, measured, demanded, isMet }) => [
    isMet === undefined ? '' : isMet ? 'ok' : 'MISS',
    name,
    measured,
    demanded,
  ])
  const widths = [0, 1, 2].map(i => Math.max(...columns.map(row => Math.min(row[i]?.length ?? 0, 70))))
  return columns
    .map(row =>
      row
        .map((cell, i) => cell.padEnd(widths[i] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}
