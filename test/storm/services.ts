import { createSecretKey } from 'node:crypto'
import { createServer } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { type Grant, signToken } from '../../src/http/auth/sign-token.js'
import { type ServiceProcess, spawnService } from '../support/service-process.js'

const SECRET = 'a secret of the storm test, long enough for HS256'

/** Signs a token that every service of the storm accepts. */
export const signStormToken = (grant: Omit<Grant, 'expiresIn'>): string =>
  signToken({ ...grant, expiresIn: 86_400 }, createSecretKey(SECRET, 'utf8'), {
    jwtIssuer: undefined,
    jwtAudience: undefined,
  })

/** A port that no program uses. A service that is killed gets the same one again. */
function findPort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject).listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address ? address.port : 0))
    })
  })
}

/** Process of the service that is killed and started again at the same address. */
class RestartableService {
  #process: ServiceProcess | undefined
  isRunning = false

  constructor(
    readonly base: string,
    private readonly env: Readonly<Record<string, string>>,
    private readonly faults: string[],
  ) {}

  async start(): Promise<void> {
    const started = spawnService({ LOG_LEVEL: 'info', JWT_SECRET: SECRET, SAMPLE_DATA: 'off', ...this.env })
    this.#process = started
    this.#watch(started)
    await started.port
    this.isRunning = true
  }

  /** Responses with status 500 and unexpected exits are failures. */
  #watch(started: ServiceProcess): void {
    started.child.stdout?.on('data', () => {
      const lines = started.output.out.split('\n')
      if (!this.isRunning) return
      started.output.out = lines.pop() ?? ''
      for (const line of lines) if (/"status":500|"stack":/.test(line)) this.faults.push(line.slice(0, 3000))
    })
    void started.exit.then(code => {
      if (code !== null) this.faults.push(`a service ended with ${code}: ${started.output.err.slice(-500)}`)
    })
  }

  async kill(): Promise<void> {
    this.isRunning = false
    this.#process?.child.kill('SIGKILL')
    await this.#process?.exit
  }
}

/** The processes of the service, on one database. */
export class ServiceGroup {
  readonly #services: readonly RestartableService[]
  readonly faults: string[] = []
  #turn = 0

  private constructor(bases: readonly string[], env: Readonly<Record<string, string>>) {
    this.#services = bases.map(
      base => new RestartableService(base, { ...env, PORT: new URL(base).port }, this.faults),
    )
  }

  static async start(count: number, env: Readonly<Record<string, string>>): Promise<ServiceGroup> {
    const bases: string[] = []
    for (let n = 0; n < count; n++) bases.push(`http://127.0.0.1:${await findPort()}`)
    const group = new ServiceGroup(bases, env)
    // The first one migrates the database.
    for (const service of group.#services) await service.start()
    return group
  }

  get bases(): readonly string[] {
    return this.#services.map(({ base }) => base)
  }

  /** Returns the addresses of running processes in turn, and waits if there is none. */
  async pick(): Promise<string> {
    for (;;) {
      const running = this.#services.filter(({ isRunning }) => isRunning)
      const service = running[this.#turn++ % Math.max(1, running.length)]
      if (service) return service.base
      await wait(50)
    }
  }

  /** Kills one process and starts it again. */
  async killOne(): Promise<void> {
    const service = this.#services[this.#turn++ % this.#services.length]
    await service?.kill()
    await service?.start()
  }

  async stop(): Promise<void> {
    await Promise.all(this.#services.map(service => service.kill()))
  }
}
