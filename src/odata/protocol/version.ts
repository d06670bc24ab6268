import type { IncomingHttpHeaders } from 'node:http'
import { fail } from '../../errors/problem.js'

/**
 * Version of an answer. Its control information has the same names in both, so only the header and some
 * context URLs differ.
 */
export type Version = '4.0' | '4.01'

const OLDEST = 4
const OURS = 4.01
const FORM = /^\d{1,4}\.\d{1,4}$/

/**
 * The version to answer in: 4.0 for a client that knows no newer one (Part 1, 8.2.7). What is no version gets
 * 4.01, and is refused elsewhere.
 */
export function versionFor(headers: IncomingHttpHeaders): Version {
  const wanted = headers['odata-maxversion']
  if (wanted === undefined) return '4.01'
  const most = Number(wanted)
  return most >= OLDEST && most < OURS ? '4.0' : '4.01'
}

/**
 * Refuses a request whose versions we cannot serve or read (`BadHeader`): the newest one for the answer, and
 * that of the request itself (Part 1, 8.1.5).
 */
export function checkVersions(headers: IncomingHttpHeaders): void {
  const { 'odata-maxversion': most, 'odata-version': own } = headers
  if (most !== undefined && (!FORM.test(String(most)) || Number(most) < OLDEST))
    fail({ kind: 'BadHeader', header: 'OData-MaxVersion', found: String(most) })
  if (own !== undefined && own !== '4.0' && own !== '4.01')
    fail({ kind: 'BadHeader', header: 'OData-Version', found: String(own) })
}
