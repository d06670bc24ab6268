import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { networkInterfaces } from 'node:os'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestEnvironment, type TestEnvironment } from '../../support/process.js'

let place: TestEnvironment
beforeAll(async () => {
  place = await createTestEnvironment('embedded')
})
afterAll(() => place.remove())

async function findPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { readonly port: number } // it listens on a port
  server.close()
  return port
}

const answerOf = (url: string, headers: Readonly<Record<string, string>> = {}) =>
  fetch(url, { headers }).then(
    async answer => ({ status: answer.status, allowed: answer.headers.get('access-control-allow-origin') }),
    () => undefined,
  )

test('DBX-06 Prisma Studio cannot be reached from other hosts', { timeout: 120_000 }, async () => {
  const port = await findPort()
  const studio = spawn(
    process.execPath,
    ['--import', './src/typescript.mjs', 'src/cli/studio.ts', '--port', String(port)],
    {
      env: { PATH: process.env['PATH'], DATA_DIR: place.env['DATA_DIR'] },
      stdio: 'ignore',
    },
  )
  const gone = once(studio, 'exit')
  await expect
    .poll(() => answerOf(`http://127.0.0.1:${port}/`), { timeout: 90_000, interval: 500 })
    .toMatchObject({ status: 200 })
  // Another host would connect to an address other than loopback.
  const outside = Object.values(networkInterfaces()).flatMap(found =>
    (found ?? []).filter(({ internal, family }) => !internal && family === 'IPv4'),
  )
  for (const { address } of outside) expect(await answerOf(`http://${address}:${port}/`)).toBeUndefined()
  // A page of another origin may not read the response.
  const foreign = await answerOf(`http://127.0.0.1:${port}/`, { Origin: 'https://evil.example' })
  expect(['*', 'https://evil.example']).not.toContain(foreign?.allowed)
  studio.kill('SIGTERM')
  await gone
})
