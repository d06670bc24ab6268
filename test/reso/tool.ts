import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

/** The root of the service, ending in /odata, and a token. */
export interface ServiceAccess {
  readonly url: string
  readonly token: string
}

/** The counts of one test, and descriptions of what failed. */
export interface Result {
  readonly name: string
  readonly passed: number
  readonly failed: number
  readonly skipped: number
  readonly problems: readonly string[]
}

interface Counts {
  readonly passed: number
  readonly failed: number
  readonly skipped?: number
}

/** A step of a command of the tool. Steps that fail may have no counts. */
interface Step {
  readonly name: string
  readonly status: string
  readonly summary?: string
  readonly counts?: Partial<Counts>
}

interface Assertion {
  readonly description: string
  readonly status: 'pass' | 'fail' | 'warn'
  readonly expected?: string
  readonly actual?: string
}

/** The events of the log as the tool reads them. */
interface LogEvent {
  readonly EntityEventSequence: number
  readonly ResourceName: string
  readonly ResourceRecordKey: string
}

interface Page<T> {
  readonly value: readonly T[]
  readonly '@odata.nextLink'?: string
}

/** The functions of the package that have no command, or a command without strict mode. */
interface Library {
  fetchMetadata(url: string, token: string): Promise<string>
  parseMetadataXml(xml: string): unknown
  runAllEntityEventScenarios(config: object): Promise<{
    readonly summary: Counts
    readonly scenarios: readonly { readonly scenario: string; readonly assertions: readonly Assertion[] }[]
  }>
  validateEventData(
    events: readonly LogEvent[],
    config: object,
    token: string,
    metadata: unknown,
  ): Promise<{ readonly assertions: readonly Assertion[] }>
}

/**
 * The resource whose events the tool cannot check: it looks for an entity type with the name of the resource, and that of
 * rooms is PropertyRooms.
 */
const UNTYPED_RESOURCE = 'Rooms'

/** Keys in one request of the tool; its default. */
const BATCH_SIZE = 100
const MAX_EVENTS = 20_000
const MAX_PROBLEMS = 10
const MAX_OUTPUT_BYTES = 256 * 1024 * 1024

const toText = ({ description, status, expected, actual }: Assertion): string =>
  `${status}: ${description}; expected ${expected}, got ${actual}`

/** The package `@reso-standards/reso-certification` in a folder, used against one service. */
export class ResoTool {
  private constructor(
    private readonly folder: string,
    private readonly library: Library,
    private readonly access: ServiceAccess,
    private readonly payloads: string,
  ) {}

  /** Loads the package. `payloads` is a folder with the bodies of Add/Edit. Reports are written there too. */
  static async load(folder: string, access: ServiceAccess, payloads: string): Promise<ResoTool> {
    const library: Library = await import(pathToFileURL(join(folder, 'dist/index.js')).href)
    return new ResoTool(folder, library, access, payloads)
  }

  /** Runs a command of the tool. Its token is in the environment. */
  async runCommand(command: string, options: readonly string[]): Promise<Result> {
    const output = ['--output', 'json', '--output-dir', join(this.payloads, 'reports')]
    const args = [
      join(this.folder, 'dist/cli/index.js'),
      command,
      '--url',
      this.access.url,
      ...options,
      ...output,
    ]
    const { stdout, stderr } = await new Promise<{ readonly stdout: string; readonly stderr: string }>(
      resolve =>
        execFile(
          process.execPath,
          args,
          { maxBuffer: MAX_OUTPUT_BYTES, env: { ...process.env, RESO_AUTH_TOKEN: this.access.token } },
          (_, stdout, stderr) => resolve({ stdout, stderr }), // a test that fails ends the command with 1
        ),
    )
    const name = [command, ...options.filter(option => /^\d/.test(option))].join(' ')
    if (!stdout.startsWith('{')) throw new Error(`${name} printed no result: ${stderr || stdout}`)
    const { steps }: { readonly steps: readonly Step[] } = JSON.parse(stdout)
    const counts = steps.find(step => step.name.startsWith('Run '))?.counts
    if (counts === undefined) throw new Error(`${name} ran no scenarios: ${JSON.stringify(steps)}`)
    const { passed = 0, failed = 0, skipped = 0 } = counts
    const problems = steps
      .filter(step => step.status !== 'passed')
      .map(step => `${step.name}: ${step.summary}`)
    return { name, passed, failed, skipped, problems }
  }

  /** Runs the scenarios of EntityEvent with writes. The command has no strict mode; this function has. */
  async checkEntityEvent(): Promise<Result> {
    const { url, token } = this.access
    const { summary, scenarios } = await this.library.runAllEntityEventScenarios({
      serverUrl: url,
      auth: { mode: 'token', authToken: token },
      mode: 'full',
      writableResource: 'Property',
      payloadsDir: this.payloads,
      maxEvents: 1000,
      batchSize: BATCH_SIZE,
      pollIntervalMs: 1000,
      pollTimeoutMs: 30_000,
      strict: true,
    })
    const problems = scenarios.flatMap(({ scenario, assertions }) =>
      assertions.filter(({ status }) => status === 'fail').map(a => `${scenario}: ${toText(a)}`),
    )
    return { name: 'entity-event, strict', ...summary, skipped: summary.skipped ?? 0, problems }
  }

  /**
   * Checks the records of the events of the log in strict mode. The scenarios above check those of the first page,
   * which are lookup values.
   */
  async checkEventRecords(): Promise<Result> {
    const { url, token } = this.access
    const metadata = this.library.parseMetadataXml(await this.library.fetchMetadata(url, token))
    const config = { serverUrl: url, batchSize: BATCH_SIZE, strict: true }
    const events = await this.readEvents()
    const checked = events.filter(({ ResourceName }) => ResourceName !== UNTYPED_RESOURCE)
    const { assertions } = await this.library.validateEventData(checked, config, token, metadata)
    const wrong = assertions.filter(({ status }) => status !== 'pass')
    return {
      name: 'values of the records of events, strict',
      passed: assertions.length - wrong.length,
      failed: wrong.length,
      skipped: events.length - checked.length,
      problems: wrong.slice(0, MAX_PROBLEMS).map(toText),
    }
  }

  private async readEvents(): Promise<readonly LogEvent[]> {
    const events: LogEvent[] = []
    const select = 'EntityEventSequence,ResourceName,ResourceRecordKey'
    let next: string | undefined =
      `${this.access.url}/EntityEvent?$select=${select}&$orderby=EntityEventSequence`
    while (next !== undefined && events.length < MAX_EVENTS) {
      const response: Response = await fetch(next, {
        headers: { Authorization: `Bearer ${this.access.token}` },
      })
      if (!response.ok) throw new Error(`GET ${next} returned ${response.status}`)
      const page = (await response.json()) as Page<LogEvent> // the shape is that of EntityEvent
      events.push(...page.value)
      next = page['@odata.nextLink']
    }
    return events
  }
}
