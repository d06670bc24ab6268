import type { Database } from '../../data/database.js'
import { toProblemOnError } from '../../data/postgres/errors.js'
import { Semaphore } from '../../data/semaphore.js'
import { type Actor, requireScope, writerOf } from '../../domain/actor.js'
import type { RequestScope } from '../../domain/request-scope.js'
import type { ChangeConditions, Precondition } from '../../domain/write-shape.js'
import { ChangeError } from '../../errors/change-error.js'
import { EXPECTED_VALUE, RESOURCES } from '../../errors/phrases.js'
import { fail, ProblemError } from '../../errors/problem.js'
import type { Entity } from '../../model/model.js'
import type { Query } from '../../query/ast.js'
import type { FeedLimits } from '../feeds/feed-checks.js'
import type { ReadService } from '../reading.js'
import type { WebhookSettings } from '../webhooks/webhook-settings.js'
import type { ReturnRequest } from '../write-response.js'
import type { BodySource } from '../writing.js'
import { type AdminBody, type AdminWriteMode, readAdminBody, SECRET } from './body.js'
import { CLIENT_RESOURCE, CLIENT_SECRET_RESOURCE } from './client-resource.js'
import { FEED_RESOURCE } from './feed-resource.js'
import type { RecordWriter, WrittenRecord } from './record-writer.js'
import type { AdminChange, AdminResource } from './resource.js'
import { WEBHOOK_RESOURCE, WEBHOOK_SECRET_RESOURCE } from './webhook-resource.js'

/** Dependencies of the service. */
export interface AdminServiceDependencies {
  readonly database: Database
  readonly reading: ReadService
  readonly feedLimits: FeedLimits
  readonly webhooks: WebhookSettings
}

/** Changes of one process that run at the same time. Each has a connection of its own. */
const MAX_CONCURRENT_CHANGES = 2
const MAX_WAIT_MS = 10_000

const RESOURCES_BY_ENTITY: ReadonlyMap<string, AdminResource> = new Map([
  ['Client', CLIENT_RESOURCE],
  ['ClientSecret', CLIENT_SECRET_RESOURCE],
  ['Feed', FEED_RESOURCE],
  ['Webhook', WEBHOOK_RESOURCE],
  ['WebhookSecret', WEBHOOK_SECRET_RESOURCE],
])

/**
 * Writes records of administration through the services that the commands use. The order of refusals is that of
 * writes of listings: missing scope (403), not found (404), precondition (412), all faults of the body (400).
 */
export class AdminService {
  constructor(
    private readonly dependencies: AdminServiceDependencies,
    private readonly scope?: RequestScope,
    private readonly semaphore = new Semaphore(MAX_CONCURRENT_CHANGES),
  ) {}

  /** Returns the service for one request. */
  forRequest(scope: RequestScope): AdminService {
    return new AdminService(this.dependencies, scope, this.semaphore)
  }

  /** Returns the writer of an entity. */
  writerOf(of: Entity): RecordWriter {
    const resource = RESOURCES_BY_ENTITY.get(of.name) ?? {}
    return new AdminWriter(of, resource, {
      ...this.dependencies,
      address: this.scope?.address,
      reader: this.scope
        ? this.dependencies.database.executorsFor(this.scope).reader
        : this.dependencies.database.reader,
      run: work => this.#run(work),
    })
  }

  /** Runs a change in its turn. Its refusals become problems. */
  async #run<T>(work: () => Promise<T>): Promise<T> {
    if (!(await this.semaphore.acquire(MAX_WAIT_MS)))
      return fail({ kind: 'Unavailable', reason: 'busy', wait: 'connection' })
    try {
      return await toProblemOnError(work)
    } catch (error) {
      throw error instanceof ChangeError ? new ProblemError(...error.problems) : error
    } finally {
      this.semaphore.release()
    }
  }
}

interface AdminWriterDependencies extends AdminServiceDependencies {
  readonly address: string | undefined
  readonly reader: Database['reader']
  readonly run: <T>(work: () => Promise<T>) => Promise<T>
}

class AdminWriter implements RecordWriter {
  constructor(
    private readonly entityType: Entity,
    private readonly resource: AdminResource,
    private readonly dependencies: AdminWriterDependencies,
  ) {}

  async create(readBody: BodySource, actor: Actor, returnRequest: ReturnRequest): Promise<WrittenRecord> {
    requireScope(actor, 'admin')
    const { create } = this.resource
    if (!create) return this.#refuse('POST')
    this.#checkReturnsSecret(returnRequest)
    const { values, faults } = await this.#readBody(readBody, 'create')
    const { key, secret } = await this.dependencies.run(() =>
      create(values, this.#changeOf(actor, { faults })),
    )
    return this.#answer(key, returnRequest, actor, secret)
  }

  update(
    key: string,
    readBody: BodySource,
    actor: Actor,
    precondition: Precondition,
    returnRequest: ReturnRequest,
  ): Promise<WrittenRecord> {
    return this.#applyChanges(key, readBody, 'update', actor, precondition, returnRequest)
  }

  replace(
    key: string,
    readBody: BodySource,
    actor: Actor,
    precondition: Precondition,
    returnRequest: ReturnRequest,
  ): Promise<WrittenRecord> {
    return this.#applyChanges(key, readBody, 'replace', actor, precondition, returnRequest)
  }

  async remove(key: string, actor: Actor, precondition: Precondition): Promise<void> {
    requireScope(actor, 'admin')
    const { remove } = this.resource
    if (!remove) return this.#refuse('DELETE')
    await this.dependencies.run(() => remove(key, this.#changeOf(actor, precondition)))
  }

  async #applyChanges(
    key: string,
    readBody: BodySource,
    mode: 'update' | 'replace',
    actor: Actor,
    precondition: Precondition,
    returnRequest: ReturnRequest,
  ): Promise<WrittenRecord> {
    requireScope(actor, 'admin')
    const { update } = this.resource
    if (!update) return this.#refuse('PATCH')
    const { values, faults } = withoutKey(this.entityType, key, await this.#readBody(readBody, mode))
    await this.dependencies.run(() => update(key, values, this.#changeOf(actor, { ...precondition, faults })))
    return this.#answer(key, returnRequest, actor)
  }

  /** Reads the body of a write. A body that is not JSON is reported like other faults. */
  async #readBody(readBody: BodySource, mode: AdminWriteMode): Promise<AdminBody> {
    try {
      return readAdminBody(this.entityType, await readBody(), mode)
    } catch (error) {
      if (error instanceof ProblemError && error.problems[0].kind === 'MalformedBody')
        return { values: {}, faults: error.problems }
      throw error
    }
  }

  /** A secret that is not in the response would be lost. */
  #checkReturnsSecret({ query: { select }, selectOption }: ReturnRequest): void {
    if (!this.entityType.fields.has(SECRET) || !select) return
    if (select.some(({ name }) => name === SECRET || name === '*')) return
    const { withSecret, selected } = EXPECTED_VALUE
    const fault = { kind: 'BadOptionValue', found: '' } as const
    if (selectOption) fail({ ...fault, option: selectOption, expected: withSecret })
    fail({ ...fault, option: SECRET, expected: selected })
  }

  async #answer(
    key: string,
    returnRequest: ReturnRequest,
    actor: Actor,
    secret?: string,
  ): Promise<WrittenRecord> {
    const { json, version } = await this.#read(key, returnRequest, actor)
    const { query } = returnRequest
    if (secret === undefined) return { key, query, version, json }
    const record = JSON.parse(json) as object
    return {
      key,
      query,
      version,
      json: JSON.stringify({ ...record, ...secretMembers(query, secret) }),
      hasSecret: true,
    }
  }

  async #read(key: string, request: ReturnRequest, actor: Actor) {
    const { reading, reader } = this.dependencies
    const { entityType } = this
    const found = await reading.readWritten(reader, entityType, key, request, actor)
    return found ?? fail({ kind: 'NotFound', what: RESOURCES.recordOf(entityType.name, key) })
  }

  #changeOf(actor: Actor, conditions: ChangeConditions): AdminChange {
    const { database, address, feedLimits, webhooks } = this.dependencies
    return { database, feedLimits, webhooks, writer: writerOf(actor, address), conditions }
  }

  #refuse(method: string): never {
    return fail({ kind: 'MethodNotAllowed', method, allow: ['GET', 'HEAD', 'OPTIONS'] })
  }
}

/** Returns the secret under each name that the query selects it by. */
function secretMembers({ select = [] }: Query, secret: string): Readonly<Record<string, string>> {
  const names = select.filter(({ name }) => name === SECRET).map(({ as = SECRET }) => as)
  return Object.fromEntries((names.length > 0 ? names : [SECRET]).map(name => [name, secret]))
}

/** The key of a record cannot be changed. A body may repeat it. */
function withoutKey({ key: field }: Entity, key: string, { values, faults }: AdminBody): AdminBody {
  const { [field.name]: sent, ...others } = values
  return sent === undefined || sent === key
    ? { values: others, faults }
    : { values: others, faults: [...faults, { kind: 'NotWritable', field: field.name }] }
}
