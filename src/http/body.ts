import type { IncomingMessage } from 'node:http'
import { isObject, type JsonObject, type JsonValue } from '../domain/json.js'
import { fail, type Problem, ProblemError } from '../errors/problem.js'
import { parseJson } from './exact-json.js'

/**
 * The bytes of a request body, at most `limit`. What a client says about the length is believed only to
 * refuse it early. The rest of a body that is too large is thrown away by Node as it arrives; nothing of it
 * is kept.
 * @throws ProblemError BodyTooLarge; UnsupportedMediaType for a compressed body; BadRequest if the client
 * went away.
 */
export async function readBody(req: IncomingMessage, limit: number): Promise<Buffer> {
  const coding = req.headers['content-encoding']?.trim().toLowerCase() ?? 'identity'
  if (coding !== 'identity')
    fail({ kind: 'UnsupportedMediaType', expected: 'sent without a Content-Encoding' })
  if (Number(req.headers['content-length'] ?? 0) > limit) fail({ kind: 'BodyTooLarge', limit })
  return await collectBytes(req, limit)
}

/**
 * Events and not `for await`: leaving that loop destroys the socket, and the client would never see the
 * answer 413.
 */
function collectBytes(req: IncomingMessage, limit: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    let isSettled = false
    const listeners = {
      keep(chunk: Buffer) {
        size += chunk.length
        if (size > limit) listeners.refuse({ kind: 'BodyTooLarge', limit })
        else chunks.push(chunk)
      },
      end() {
        isSettled = true
        resolve(Buffer.concat(chunks))
      },
      lose() {
        listeners.refuse({ kind: 'BadRequest', reason: 'the body ended early' })
      },
      refuse(problem: Problem) {
        // Every request closes, and to make an error is dear.
        if (isSettled) return
        isSettled = true
        req.off('data', listeners.keep)
        reject(new ProblemError(problem))
      },
    }
    req
      .on('data', listeners.keep)
      .on('end', listeners.end)
      .on('error', listeners.lose)
      .on('close', listeners.lose)
  })
}

/**
 * The JSON object in a request body: `application/json` with any parameters, in UTF-8.
 * @throws ProblemError UnsupportedMediaType (also without a Content-Type), MalformedBody, and those of
 * `readBody`.
 */
export async function readJsonObject(req: IncomingMessage, limit: number): Promise<JsonObject> {
  return toJsonObject(await readJson(req, limit))
}

/**
 * Any JSON value in a request body; rules and errors as in `readJsonObject`. `maxDepth`: as in `parseJson`.
 */
export async function readJson(req: IncomingMessage, limit: number, maxDepth?: number): Promise<JsonValue> {
  checkMediaType(req.headers['content-type'], 'application/json')
  return parseJsonBytes(await readBody(req, limit), maxDepth)
}

/** The JSON value in bytes that are there already. */
export function parseJsonBytes(bytes: Buffer, maxDepth?: number): JsonValue {
  const text = decodeUtf8(bytes)
  return text.trim() === ''
    ? fail({ kind: 'MalformedBody', reason: 'it is empty' })
    : parseJson(text, maxDepth)
}

export const toJsonObject = (value: JsonValue): JsonObject =>
  isObject(value) ? value : fail({ kind: 'MalformedBody', reason: 'it holds another JSON value' })

/**
 * Refuses a body of another type (UnsupportedMediaType); parameters do not count, but for a charset: texts
 * are in UTF-8.
 */
export function checkMediaType(contentType = '', expected: 'application/json' | 'text/plain'): void {
  const [type, ...parameters] = contentType.split(';').map(part => part.trim().toLowerCase())
  const charset = parameters
    .find(parameter => parameter.startsWith('charset='))
    ?.slice('charset='.length)
    .replaceAll('"', '')
  if (type !== expected || (charset !== undefined && charset !== 'utf-8' && charset !== 'utf8'))
    fail({ kind: 'UnsupportedMediaType', expected: `${expected} in UTF-8` })
}

const UTF_8 = new TextDecoder('utf-8', { fatal: true })

function decodeUtf8(bytes: Buffer): string {
  try {
    return UTF_8.decode(bytes)
  } catch {
    return fail({ kind: 'MalformedBody', reason: 'it is not UTF-8' })
  }
}
