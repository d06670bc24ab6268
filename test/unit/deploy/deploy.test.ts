import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { SETTINGS } from '../../../src/config/settings.js'

// The files of deploy/ must be consistent with each other and with the service.

const read = (name: string): string =>
  readFileSync(new URL(`../../../deploy/${name}`, import.meta.url), 'utf8')
const SETTING_NAMES = new Set<string>(Object.values(SETTINGS).map(({ name }) => name))
/** Variables of a manifest that other programs read. */
const OTHER_NAMES = new Set(['NODE_ENV', 'POSTGRES_USER', 'POSTGRES_DB', 'POSTGRES_PASSWORD'])

interface Container {
  readonly env: readonly { readonly name: string; readonly value: string }[]
  readonly livenessProbe: Probe
  readonly readinessProbe: Probe
  readonly startupProbe: Probe
  readonly securityContext: unknown
}
interface Probe {
  readonly httpGet: { readonly path: string }
  readonly periodSeconds: number
  readonly failureThreshold: number
}
interface Deployment {
  readonly kind: string
  readonly spec: {
    readonly replicas: number
    readonly strategy: unknown
    readonly template: {
      readonly spec: {
        readonly terminationGracePeriodSeconds: number
        readonly securityContext: unknown
        readonly containers: readonly [Container]
      }
    }
  }
}
interface Compose {
  readonly services: Readonly<
    Record<
      'database' | 'service',
      {
        readonly environment: Readonly<Record<string, string | number>>
        readonly stop_grace_period?: string
      }
    >
  >
}

const dockerfile = read('Dockerfile')
const unit = read('listing-service.service')
const compose: Compose = parse(read('compose.yaml'))
const [deployment] = parseAllDocuments(read('kubernetes.yaml')).map(document => document.toJS() as Deployment)
const pod = deployment?.spec.template.spec
const container = pod?.containers[0]

/** Variables that a file sets, by name. */
const variables: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  Dockerfile: toVariables(/^ENV (.*)$/m.exec(dockerfile)?.[1] ?? ''),
  'listing-service.service': toVariables(/^Environment=(.*)$/m.exec(unit)?.[1] ?? ''),
  'compose.yaml': Object.fromEntries(
    Object.values(compose.services)
      .flatMap(({ environment }) => Object.entries(environment))
      .map(([name, value]) => [name, String(value)]),
  ),
  'kubernetes.yaml': Object.fromEntries(container?.env.map(({ name, value }) => [name, value]) ?? []),
}

function toVariables(text: string): Readonly<Record<string, string>> {
  return Object.fromEntries(text.split(' ').map(pair => pair.split('=') as [string, string]))
}

/** Seconds from SIGTERM to SIGKILL, by file. */
const stopSeconds: Readonly<Record<string, number>> = {
  'listing-service.service': Number(/^TimeoutStopSec=(\d+)$/m.exec(unit)?.[1]),
  'compose.yaml': Number.parseInt(compose.services.service.stop_grace_period ?? '', 10),
  'kubernetes.yaml': pod?.terminationGracePeriodSeconds ?? 0,
}

describe.each(Object.keys(variables))('%s', file => {
  const found = variables[file] ?? {}

  test('sets variables that exist', () => {
    expect(Object.keys(found).length).toBeGreaterThan(1)
    expect(Object.keys(found).filter(name => !SETTING_NAMES.has(name) && !OTHER_NAMES.has(name))).toEqual([])
  })

  test.runIf(file in stopSeconds)('PKG-04 kills the service only after its own time to stop', () => {
    const needed = Number(found['SHUTDOWN_DRAIN_MS']) + Number(found['SHUTDOWN_TIMEOUT_MS'])
    expect(needed).toBeGreaterThan(0)
    expect((stopSeconds[file] ?? 0) * 1000).toBeGreaterThan(needed)
  })
})

test('PKG-04 the drain time is longer than the readiness probe needs', () => {
  const { periodSeconds = 0, failureThreshold = 0 } = container?.readinessProbe ?? {}
  const drainMs = Number(variables['kubernetes.yaml']?.['SHUTDOWN_DRAIN_MS'])
  expect(drainMs).toBeGreaterThan(periodSeconds * failureThreshold * 1000)
})

test('PKG-04 the drain time is longer than nginx leaves an instance out after failures', () => {
  const seconds = [...read('nginx.conf').matchAll(/fail_timeout=(\d+)s/g)].map(([, text]) => Number(text))
  expect(seconds.length).toBe(2)
  const drainMs = Number(variables['listing-service.service']?.['SHUTDOWN_DRAIN_MS'])
  expect(drainMs).toBeGreaterThan(Math.max(...seconds) * 1000)
})

test('PKG-05 probes, restrictions and rolling updates of the manifest', () => {
  expect(container?.livenessProbe.httpGet.path).toBe('/health/live')
  expect(container?.startupProbe.httpGet.path).toBe('/health/live')
  expect(container?.readinessProbe.httpGet.path).toBe('/health/ready')
  expect(pod?.securityContext).toMatchObject({ runAsNonRoot: true })
  expect(container?.securityContext).toEqual({
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ['ALL'] },
  })
  expect(deployment?.spec).toMatchObject({
    replicas: 2,
    strategy: { rollingUpdate: { maxUnavailable: 0 } },
  })
})

test('PKG-01 the image listens on all interfaces; outside of it the default is the local one', () => {
  expect(variables['Dockerfile']).toMatchObject({ HOST: '0.0.0.0', PORT: '4000' })
  expect(SETTINGS.host.defaultText).toBe('127.0.0.1')
})

test('PKG-03 the image runs the service itself, as an ordinary user', () => {
  const command = /^CMD (\[.*\])$/m.exec(dockerfile)?.[1] ?? '[]'
  expect(JSON.parse(command)).toEqual(['node', '--import', './src/typescript.mjs', 'src/main.ts'])
  expect(dockerfile).toMatch(/^USER node$/m)
})

test('PKG-02 the health check of the image requests liveness at the configured port, and has a timeout', async () => {
  const [, timeout = '', json = '[]'] =
    /^HEALTHCHECK .*--timeout=(\d+)s .*\\\n +CMD (\[.*\])$/m.exec(dockerfile) ?? []
  const [program, ...args] = JSON.parse(json) as readonly string[]
  expect(program).toBe('node')
  let isHanging = false
  const paths: (string | undefined)[] = []
  const server = createServer((req, res) => {
    paths.push(req.url)
    if (!isHanging) res.end()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const check = async () => {
    const [code] = await once(spawn(process.execPath, args, { env: { PORT: String(port) } }), 'exit')
    return code
  }
  // A process of Node may take seconds to start on a busy machine.
  await expect.poll(check, { timeout: 60_000 }).toBe(0)
  expect(new Set(paths)).toEqual(new Set(['/health/live']))
  isHanging = true
  expect(await check()).toBe(1)
  server.closeAllConnections()
  server.close()
  await once(server, 'close')
  expect(await check()).toBe(1)
  // Its own limit ends before that of Docker.
  const [, own = ''] = /AbortSignal\.timeout\((\d+)\)/.exec(json) ?? []
  expect(Number(own)).toBeLessThan(Number(timeout) * 1000)
}, 120_000)

test('PKG-11 the image has only named files of the project', () => {
  const lines = read('Dockerfile.dockerignore')
    .split('\n')
    .filter(line => line && !line.startsWith('#'))
  expect(lines[0]).toBe('*')
  const allowed = lines.filter(line => line.startsWith('!')).map(line => line.slice(1))
  const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.*) \S+$/gm)].flatMap(([, names = '']) =>
    names.split(' '),
  )
  expect(copied.toSorted()).toEqual(allowed.toSorted())
  expect(copied.filter(name => !existsSync(new URL(`../../../${name}`, import.meta.url)))).toEqual([])
})

test('the folder has only files that the docs name', () => {
  const operations = readFileSync(new URL('../../../docs/operations.md', import.meta.url), 'utf8')
  const names = readdirSync(new URL('../../../deploy', import.meta.url))
  expect(names.filter(name => !operations.includes(`deploy/${name}`))).toEqual([])
})
