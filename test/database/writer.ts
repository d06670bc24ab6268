import { openDatabase } from '../../src/data/database.js'

// Runs in a process of its own, to be killed: writes transactions of two rows and prints the number of each when it is acknowledged.

const database = await openDatabase({ dataDir: process.argv[2] ?? '', poolSize: 2, poolWaitMs: 10_000, statementTimeoutMs: 10_000 }, 'service')
await database.prisma.$executeRawUnsafe('create table if not exists written (n int, part int)')
const [last] = await database.prisma.$queryRawUnsafe<{ n: number }[]>('select coalesce(max(n), 0) as n from written')

for (let n = (last?.n ?? 0) + 1; ; n += 1) {
  await database.prisma.$transaction(async tx => {
    await tx.$executeRawUnsafe('insert into written values ($1, 1)', n)
    await tx.$executeRawUnsafe('insert into written values ($1, 2)', n)
  })
  process.stdout.write(`${n}\n`)
}
