import { readFileSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import { LoadClient } from '../support/load.js'
import type { ServiceProcess } from '../support/service-process.js'

/** Memory of the service at one time (milliseconds of `performance.now`). */
export interface MemorySample {
  readonly at: number
  readonly megabytes: number
}

const MEMORY_INTERVAL_MS = 1000
const PROBE_INTERVAL_MS = 250

/** Resident memory of a process, from /proc (Linux). */
function residentMegabytes(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1] ?? 0) / 1024
}

export async function sampleMemory(pid: number, isOver: () => boolean): Promise<readonly MemorySample[]> {
  const samples: MemorySample[] = []
  for (; !isOver(); await wait(MEMORY_INTERVAL_MS))
    samples.push({ at: performance.now(), megabytes: residentMegabytes(pid) })
  return samples
}

/** Statuses of /health/ready, requested four times a second without a token. */
export async function probeReadiness(base: string, isOver: () => boolean): Promise<readonly number[]> {
  const client = new LoadClient(base, '')
  const statuses: number[] = []
  for (; !isOver(); await wait(PROBE_INTERVAL_MS))
    statuses.push((await client.start('/health/ready').status) ?? 0)
  client.close()
  return statuses
}

/** Faults in the output of the service. */
export interface LogFaults {
  readonly serverErrors: number
  /** Lines with a stack, or written to standard error. */
  readonly stacks: readonly string[]
}

interface LogLine {
  readonly status?: number
  readonly err?: unknown
  readonly stack?: unknown
}

/** Reads the output and stores only the faults, so that an hour of output does not fill the memory. */
export function watchLog({ child, output }: ServiceProcess): () => LogFaults {
  let serverErrors = 0
  let rest = ''
  const stacks: string[] = []
  child.stdout?.on('data', (text: string) => {
    const lines = (rest + text).split('\n')
    rest = lines.pop() ?? ''
    output.out = ''
    for (const line of lines) {
      const { status, err, stack } = parseLine(line)
      if (status === 500) serverErrors += 1
      if (err !== undefined || stack !== undefined) stacks.push(line)
    }
  })
  return () => ({ serverErrors, stacks: [...stacks, ...output.err.split('\n').filter(Boolean)] })
}

function parseLine(line: string): LogLine {
  try {
    const parsed: LogLine = JSON.parse(line)
    return parsed
  } catch {
    return { stack: line }
  }
}
