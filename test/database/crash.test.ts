import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { openDatabase } from '../../src/data/database.js'
import { copyDataDir } from '../support/database.js'

const LIMITS = { poolSize: 2, poolWaitMs: 10_000, statementTimeoutMs: 10_000 }
const WRITER = fileURLToPath(new URL('writer.ts', import.meta.url))
const KILLS = 3

/** Collects the lines that the writer prints: each is the number of a transaction that was acknowledged. */
function startWriter(dataDir: string): { readonly process: ChildProcess; readonly acknowledged: number[] } {
  const process = spawn('npx', ['--no-install', 'tsx', WRITER, dataDir], { stdio: ['ignore', 'pipe', 'inherit'], detached: true })
  const acknowledged: number[] = []
  let rest = ''
  process.stdout?.on('data', chunk => {
    const lines = `${rest}${chunk}`.split('\n')
    rest = lines.pop() ?? ''
    acknowledged.push(...lines.map(Number))
  })
  return { process, acknowledged }
}

describe('the embedded database', () => {
  it('loses nothing acknowledged and keeps nothing half when its process is killed', { timeout: 180_000 }, async () => {
    const dataDir = await copyDataDir()
    const acknowledged: number[] = []
    for (let kill = 0; kill < KILLS; kill += 1) {
      const writer = startWriter(dataDir)
      await expect.poll(() => writer.acknowledged.length, { timeout: 60_000 }).toBeGreaterThan(20)
      await wait(100 * Math.random())
      // The whole group: npx, tsx and the writer itself.
      process.kill(-(writer.process.pid ?? 0), 'SIGKILL')
      await once(writer.process, 'close')
      acknowledged.push(...writer.acknowledged)
    }
    const database = await openDatabase({ ...LIMITS, dataDir }, 'service')
    const rows = await database.prisma.$queryRawUnsafe<{ n: number; parts: number }[]>('select n, count(*)::int as parts from written group by n')
    const written = new Map(rows.map(row => [row.n, row.parts]))
    expect(acknowledged.filter(n => !written.has(n))).toEqual([])
    expect(rows.filter(row => row.parts !== 2)).toEqual([])
    await database.close()
    await rm(dataDir, { recursive: true })
  })
})
