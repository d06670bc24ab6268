import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { openDatabase } from '../../src/data/database.js'
import { toProblem } from '../../src/data/postgres/errors.js'
import { copyDataDir, openTestDatabase, type TestDatabase } from '../support/database.js'

const HAS_STRACE = spawnSync('strace', ['-V']).status === 0

/** Counts the calls of fsync that this process makes, in all its threads, while `callback` runs. */
async function countFsyncs(callback: () => Promise<void>): Promise<number> {
  const log = join(tmpdir(), `fsync-${process.pid}.log`)
  const strace = spawn('strace', ['-f', '-p', String(process.pid), '-e', 'trace=fsync', '-o', log])
  await once(strace.stderr, 'data')
  await callback()
  strace.kill('SIGINT')
  await once(strace, 'exit')
  const calls = (await readFile(log, 'utf8')).split('\n').filter(line => line.includes(' fsync('))
  await rm(log)
  return calls.length
}

describe('sessions of the embedded database', () => {
  let database: TestDatabase
  const clients: Client[] = []

  beforeAll(async () => {
    database = await openTestDatabase('embedded', { poolWaitMs: 3_000, statementTimeoutMs: 2_000 })
    await database.prisma.$executeRawUnsafe('create table note (id int primary key, text text)')
  })
  afterEach(async () => {
    await Promise.all(clients.splice(0).map(client => client.end().catch(() => undefined)))
    await database.prisma.$executeRawUnsafe('truncate note')
  })
  afterAll(() => database.close())

  const connect = async (): Promise<Client> => {
    const client = new Client(database.clientConfig)
    client.on('error', () => undefined)
    await client.connect()
    clients.push(client)
    return client
  }
  const countNotes = async (): Promise<number> => {
    const [row] = await database.prisma.$queryRawUnsafe<{ n: number }[]>(
      'select count(*)::int as n from note',
    )
    return row?.n ?? -1
  }

  it('PostgreSQL forces writes to the disk', async () => {
    const [settings] = await database.prisma.$queryRawUnsafe<object[]>(
      `select current_setting('fsync') as fsync, current_setting('synchronous_commit') as commit, current_setting('wal_sync_method') as method`,
    )
    expect(settings).toEqual({ fsync: 'on', commit: 'on', method: 'fsync' })
  })

  it.skipIf(!HAS_STRACE)('forces each commit to the disk', async () => {
    const client = await connect()
    const fsyncs = await countFsyncs(async () => {
      for (let id = 1; id <= 10; id++) await client.query('insert into note values ($1)', [id])
    })
    expect(fsyncs).toBeGreaterThanOrEqual(10)
  })

  it('isolates the transaction of a client from queries of the service', async () => {
    const client = await connect()
    await client.query('begin')
    await client.query(`insert into note values (1, 'open')`)
    const count = countNotes()
    await new Promise(resolve => setTimeout(resolve, 300))
    await client.query('rollback')
    expect(await count).toBe(0)
  })

  it('rolls back the transaction of a client that disconnects', async () => {
    const client = await connect()
    await client.query('begin')
    await client.query(`insert into note values (1, 'lost')`)
    await client.end()
    expect(await countNotes()).toBe(0)
  })

  it('isolates the settings of a client from other sessions', async () => {
    const client = await connect()
    await client.query(`set timezone = 'Asia/Tokyo'`)
    await client.query('set search_path = pg_catalog')
    await client.query('create temporary table note (id int)')
    await client.query('select pg_advisory_lock(42)')
    expect(await countNotes()).toBe(0)
    expect(await database.prisma.$queryRawUnsafe(`select current_setting('TimeZone') as zone`)).toEqual([
      { zone: 'UTC' },
    ])
    expect(
      await database.prisma.$queryRawUnsafe(
        'select count(*)::int as n from pg_locks where locktype = $1',
        'advisory',
      ),
    ).toEqual([{ n: 0 }])
  })

  it('distinguishes prepared statements with the same name', async () => {
    const [one, two] = [await connect(), await connect()]
    const ask = (client: Client, text: string) =>
      client.query({ name: 'same', text }).then(result => result.rows)
    expect(await ask(one, 'select 1 as n')).toEqual([{ n: 1 }])
    expect(await ask(two, 'select 2 as n')).toEqual([{ n: 2 }])
    expect(await ask(one, 'select 1 as n')).toEqual([{ n: 1 }])
  })

  it('runs many concurrent transactions without mixing them', async () => {
    const work = Array.from({ length: 12 }, (_, i) =>
      database.prisma.$transaction(
        async tx => {
          await tx.$executeRawUnsafe('insert into note values ($1, $2)', i, 'a')
          if (i % 3 === 0) throw new Error('undo')
          await tx.$executeRawUnsafe('update note set text = $2 where id = $1', i, 'b')
        },
        { maxWait: 10_000 },
      ),
    )
    await Promise.allSettled(work)
    expect(
      await database.prisma.$queryRawUnsafe('select text, count(*)::int as n from note group by 1'),
    ).toEqual([{ text: 'b', n: 8 }])
  })

  it('answers "busy" while another transaction lasts too long', async () => {
    const client = await connect()
    await client.query('begin')
    await client.query('select 1')
    const error = await countNotes().catch((e: unknown) => e)
    expect(toProblem(error)).toEqual({ kind: 'Unavailable', reason: 'busy', wait: 'connection' })
    await client.query('commit')
    expect(await countNotes()).toBe(0)
  })

  it('stops a statement that takes too long, retains committed data, and continues', async () => {
    await database.prisma.$executeRawUnsafe(`insert into note values (1, 'kept')`)
    const endless = database.prisma
      .$queryRawUnsafe('select count(*) from generate_series(1, 2000000000)')
      .catch((e: unknown) => e)
    expect(toProblem(await endless)).toEqual({ kind: 'Unavailable', reason: 'timeout', wait: 'statement' })
    await expect.poll(() => countNotes().catch(() => -1), { timeout: 20_000 }).toBe(1)
  })

  it('recovers after each failure that ends PGlite', async () => {
    await database.prisma.$executeRawUnsafe(`insert into note values (1, 'kept')`)
    const client = await connect()
    await expect(client.query('copy note from stdin')).rejects.toThrow()
    await expect.poll(() => countNotes().catch(() => -1), { timeout: 20_000 }).toBe(1)
  })
})

describe('the folder of the embedded database', () => {
  const limits = { poolSize: 2, poolWaitMs: 10_000, statementTimeoutMs: 10_000 }

  it('is run by one service, to which commands connect', async () => {
    const dataDir = await copyDataDir()
    const service = await openDatabase({ ...limits, dataDir }, 'service')
    await expect(openDatabase({ ...limits, dataDir }, 'service')).rejects.toThrow(/in use/)
    const command = await openDatabase({ ...limits, dataDir }, 'command')
    await command.prisma.$executeRawUnsafe('create table note (id int)')
    expect(await service.prisma.$queryRawUnsafe('select * from note')).toEqual([])
    await command.close()
    await service.close()
    await rm(dataDir, { recursive: true })
  })

  it('may have a path longer than the address of a socket', async () => {
    const parent = await copyDataDir()
    const dataDir = join(
      parent,
      ...Array.from({ length: 4 }, () => 'a-rather-long-name-of-a-folder-in-the-path'),
    )
    const service = await openDatabase({ ...limits, dataDir }, 'service')
    const command = await openDatabase({ ...limits, dataDir }, 'command')
    expect(await command.prisma.$queryRawUnsafe('select 1 as n')).toEqual([{ n: 1 }])
    await command.close()
    await service.close()
    await rm(parent, { recursive: true })
  })

  it('can be opened after its process was killed', async () => {
    const dataDir = await copyDataDir()
    await writeFile(join(dataDir, '.s.PGSQL.5432'), '')
    await writeFile(join(dataDir, '00000000.lock'), '')
    const service = await openDatabase({ ...limits, dataDir }, 'service')
    expect(await service.queryControl({ text: 'select 1 as n', values: [] })).toEqual([{ n: 1 }])
    await service.close()
    await rm(dataDir, { recursive: true })
  })
})
