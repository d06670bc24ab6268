import type { Answer } from './answer.js'
import { readOptions } from './options.js'
import type { ODataRequest, Service } from './request.js'

/**
 * A read whose options stand in the body, as text/plain, percent-encoded like a query string (Part 2, 4.17). They are joined with those of the URL,
 * so an option in both is given twice; links of the answer carry all of them and are followed by GET.
 */
export async function readByBody<P>(
  request: ODataRequest,
  path: P,
  service: Service,
  read: (request: ODataRequest, path: P, service: Service) => Promise<Answer>,
): Promise<Answer> {
  const rawQuery = [request.rawQuery, toQueryString(await request.readText())].filter(part => part !== '').join('&')
  const rawPath = request.rawPath.replace(/\/+[^/]+\/*$/, '')
  return read({ ...request, rawPath, rawQuery, options: readOptions(rawQuery) }, path, service)
}

/** A line end behind it is that of a file, and blanks are left as they are by some who write it. */
const toQueryString = (text: string): string => text.trim().replace(/^\?/, '').replaceAll(' ', '%20')
