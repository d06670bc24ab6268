import type { IncomingHttpHeaders } from 'node:http'
import type { Actor } from '../../domain/actor.js'
import type { JsonObject } from '../../domain/json.js'
import type { ParseLimits } from '../../language/parse-limits.js'
import type { ReadService } from '../../service/reading.js'
import type { WriteService } from '../../service/writing.js'
import type { QueryOptions } from '../url/query-options.js'
import type { RequestedFormat } from './negotiate.js'
import type { ODataVersion } from './version.js'

/** Where the service root is below the base of all links. */
export const ODATA_PATH = '/odata'

/** The parts of the port that requests use. */
export interface ODataServices {
  readonly reading: ReadService
  readonly writing: WriteService
}

/**
 * The body of a request. Only who needs it reads it: client programs send the strangest content with requests
 * that have none.
 */
export interface RequestBody {
  /** The JSON object in it. */
  readonly readBody: () => Promise<JsonObject>
  /** Plain text, each byte as one character (latin1), as Node hands over URLs. */
  readonly readText: () => Promise<string>
}

/** A request below the service root, whose caller is known. */
export interface ODataRequest extends RequestBody {
  /** The service root, with a slash at its end: the base of all links. */
  readonly root: string
  /** Path and query string as they were sent, percent-encoded, without the root and without `?`. */
  readonly rawPath: string
  readonly rawQuery: string
  readonly headers: IncomingHttpHeaders
  readonly options: QueryOptions
  readonly version: ODataVersion
  readonly actor: Actor
  /** What one query may cost to parse. */
  readonly limits: ParseLimits
  /** Most characters of a query string, that of a next link too. */
  readonly maxQueryLength: number
}

/** What the request says about the form of the answer. */
export const requestedFormatOf = ({ headers, options }: ODataRequest): RequestedFormat => ({
  accept: headers.accept,
  format: options.values.get('$format'),
})
