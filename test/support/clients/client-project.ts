import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect } from 'vitest'

/** A request that a client has sent. */
export interface RecordedRequest {
  readonly method: string
  readonly url: string
  readonly body: string
}

/** A `fetch` for clients that records requests. */
export function recordRequests(): { readonly fetch: typeof fetch; readonly sent: RecordedRequest[] } {
  const sent: RecordedRequest[] = []
  const recorded: typeof fetch = (url, init = {}) => {
    sent.push({
      method: init.method ?? 'GET',
      url: String(url),
      body: typeof init.body === 'string' ? init.body : '',
    })
    return fetch(url, init)
  }
  return { fetch: recorded, sent }
}

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))

/** Creates a folder for a client program outside of the project, with access to its packages. */
export interface ClientProject {
  readonly path: string
  write(name: string, text: string): void
  /** Runs a Node script there, and returns its output. */
  run(script: string, args?: readonly string[], env?: Readonly<Record<string, string>>): Promise<string>
  remove(): void
}

const execute = promisify(execFile)

export function createClientProject(): ClientProject {
  const path = mkdtempSync(join(tmpdir(), 'listing-client-'))
  symlinkSync(join(ROOT, 'node_modules'), join(path, 'node_modules'))
  return {
    path,
    write(name, text) {
      const file = join(path, name)
      mkdirSync(dirname(file), { recursive: true })
      writeFileSync(file, text)
    },
    run: async (script, args = [], env = {}) => {
      const { stdout } = await execute(process.execPath, [script, ...args], {
        cwd: path,
        env: { PATH: process.env['PATH'], ...env },
      })
      return stdout
    },
    remove: () => rmSync(path, { recursive: true }),
  }
}

/** The schema as it is published. */
export const readPublishedSchema = (): string => readFileSync(join(ROOT, 'schema/listing.graphql'), 'utf8')

/** Waits for a condition, since clients update asynchronously. */
export const eventually = <T>(read: () => T) => expect.poll(read, { timeout: 20_000 })
