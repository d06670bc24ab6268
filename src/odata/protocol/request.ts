import type { IncomingHttpHeaders } from 'node:http'
import type { Actor, TokenScope } from '../../domain/actor.js'
import type { JsonObject } from '../../domain/json.js'
import type { RequestScope } from '../../domain/request-scope.js'
import type { ParseLimits } from '../../language/parse-limits.js'
import { ADMIN_MODEL, type Entity, type EntityModel, LISTING_MODEL } from '../../model/model.js'
import type { PlanCache } from '../../query/plan-cache.js'
import type { RecordWriter } from '../../service/admin/record-writer.js'
import type { DeltaService } from '../../service/deltas.js'
import type { DigestService } from '../../service/digest.js'
import type { ExportService } from '../../service/export.js'
import type { ReadService } from '../../service/reading.js'
import type { WriteService } from '../../service/writing.js'
import type { QueryOptions } from '../url/query-options.js'
import type { RequestedFormat } from './negotiate.js'
import type { ODataVersion } from './version.js'

/** An OData service: the entities that it shows, below its path. */
export interface ODataService {
  /** Path of the service root below the base URL, without a slash at its end. */
  readonly path: string
  readonly model: EntityModel
  /** The scope that every request needs, besides those of its resource. */
  readonly scope?: TokenScope
}

/** Path of the service root of the listings below the base URL. */
export const ODATA_PATH = '/odata'

export const LISTING_SERVICE: ODataService = { path: ODATA_PATH, model: LISTING_MODEL }
export const ADMIN_SERVICE: ODataService = { path: '/admin/odata', model: ADMIN_MODEL, scope: 'admin' }

/** The services that requests use. */
export interface ODataServices {
  readonly reading: ReadService
  /** Writes listings, also several in one transaction. */
  readonly writing: WriteService
  /** Returns the writer of an entity. */
  writerOf(of: Entity): RecordWriter
  readonly digests: DigestService
  readonly deltas: DeltaService
  /** Undefined in a batch, whose responses are pages. */
  readonly exports: ExportService | undefined
}

/**
 * The body of a request. It is read only by requests that need one, since clients send arbitrary content with
 * other requests.
 */
export interface RequestBody {
  /** Reads the body as a JSON object. */
  readonly readBody: () => Promise<JsonObject>
  /** Reads plain text with each byte as one character (latin1), as Node represents URLs. */
  readonly readText: () => Promise<string>
}

/** A request below the service root with a known actor. */
export interface ODataRequest extends RequestBody {
  readonly service: ODataService
  /** The service root with a trailing slash: the base of all links. */
  readonly root: string
  /** Path and query string as sent, percent-encoded, without the root and without `?`. */
  readonly rawPath: string
  readonly rawQuery: string
  readonly headers: IncomingHttpHeaders
  readonly options: QueryOptions
  readonly version: ODataVersion
  readonly actor: Actor
  readonly scope: RequestScope
  readonly plans: PlanCache
  /** Limits on the complexity of a query. */
  readonly limits: ParseLimits
  /** Maximum characters of a query string, including that of a next link. */
  readonly maxQueryLength: number
}

/** Returns the requested format. */
export const requestedFormatOf = ({ headers, options }: ODataRequest): RequestedFormat => ({
  accept: headers.accept,
  format: options.values.get('$format'),
})
