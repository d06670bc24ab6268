import type { IncomingHttpHeaders } from 'node:http'
import { EXPECTED_HEADER } from '../../errors/phrases.js'
import { fail } from '../../errors/problem.js'

/**
 * The protocol version of a response. Control information has the same names in both versions. Only the
 * header and some context URLs differ.
 */
export type ODataVersion = '4.0' | '4.01'

const MIN_VERSION = 4
const MAX_VERSION = 4.01
const FORM = /^\d{1,4}\.\d{1,4}$/

/**
 * Returns the version of the response: 4.0 for a client that supports no newer one (Part 1, 8.2.7). An
 * invalid header gives 4.01, and `checkVersions` refuses it.
 */
export function negotiateVersion(headers: IncomingHttpHeaders): ODataVersion {
  const wanted = headers['odata-maxversion']
  if (wanted === undefined) return '4.01'
  const maxVersion = Number(wanted)
  return maxVersion >= MIN_VERSION && maxVersion < MAX_VERSION ? '4.0' : '4.01'
}

/**
 * Refuses a request with an unsupported version (`BadHeader`): the maximum version of the response, or the
 * version of the request (Part 1, 8.1.5).
 */
export function checkVersions(headers: IncomingHttpHeaders): void {
  const { 'odata-maxversion': maxVersion, 'odata-version': requestVersion } = headers
  if (maxVersion !== undefined && (!FORM.test(String(maxVersion)) || Number(maxVersion) < MIN_VERSION))
    fail({
      kind: 'BadHeader',
      header: 'OData-MaxVersion',
      expected: EXPECTED_HEADER.maxVersion,
      found: String(maxVersion),
    })
  if (requestVersion !== undefined && requestVersion !== '4.0' && requestVersion !== '4.01')
    fail({
      kind: 'BadHeader',
      header: 'OData-Version',
      expected: EXPECTED_HEADER.version,
      found: String(requestVersion),
    })
}
