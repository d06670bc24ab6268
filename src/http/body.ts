import type { IncomingMessage } from 'node:http'
import { isObject, type JsonObject, type JsonValue } from '../domain/json.js'
import { EXPECTED_BODY } from '../errors/phrases.js'
import { fail, type Problem, ProblemError } from '../errors/problem.js'
import { REASONS } from '../errors/reasons.js'
import { parseJson } from './parse-json.js'

/**
 * Reads a request body of at most `limit` bytes. Content-Length is used only to reject a body early. Node
 * discards the rest of a body that is too large as it arrives.
 * @throws ProblemError BodyTooLarge; UnsupportedMediaType for a compressed body; BadRequest if the client
 * disconnected
 */
export async function readBody(req: IncomingMessage, limit: number): Promise<Buffer> {
  const coding = req.headers['content-encoding']?.trim().toLowerCase() ?? 'identity'
  if (coding !== 'identity') fail({ kind: 'UnsupportedMediaType', expected: EXPECTED_BODY.unencoded })
  if (Number(req.headers['content-length'] ?? 0) > limit) fail({ kind: 'BodyTooLarge', limit })
  return await collectBytes(req, limit)
}

/**
 * Collects a body by events. Leaving a `for await` loop would destroy the socket before the client gets the
 * 413.
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
        listeners.refuse({ kind: 'BadRequest', reason: REASONS.bodyIncomplete })
      },
      refuse(problem: Problem) {
        // Every request emits `close`, and creating an error is expensive.
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
 * Reads a request body that is a JSON object: `application/json` with any parameters, in UTF-8.
 * @throws ProblemError UnsupportedMediaType (also without a Content-Type), MalformedBody, and those of
 * `readBody`
 */
export async function readJsonObject(req: IncomingMessage, limit: number): Promise<JsonObject> {
  return toJsonObject(await readJson(req, limit))
}

/** Reads a request body that is any JSON value; see `readJsonObject`. `maxDepth`: see `parseJson`. */
export async function readJson(req: IncomingMessage, limit: number, maxDepth?: number): Promise<JsonValue> {
  checkMediaType(req.headers['content-type'], 'application/json')
  return parseJsonBytes(await readBody(req, limit), maxDepth)
}

/** Parses bytes as JSON. */
export function parseJsonBytes(bytes: Buffer, maxDepth?: number): JsonValue {
  const text = decodeUtf8(bytes)
  return text.trim() === ''
    ? fail({ kind: 'MalformedBody', reason: REASONS.bodyEmpty })
    : parseJson(text, maxDepth)
}

export const toJsonObject = (value: JsonValue): JsonObject =>
  isObject(value) ? value : fail({ kind: 'MalformedBody', reason: REASONS.bodyNotObject })

/**
 * Rejects a body of another media type. Parameters are ignored except `charset`, which must be UTF-8.
 * @throws ProblemError UnsupportedMediaType
 */
export function checkMediaType(contentType = '', expected: 'application/json' | 'text/plain'): void {
  const [type, ...parameters] = contentType.split(';').map(part => part.trim().toLowerCase())
  const charset = parameters
    .find(parameter => parameter.startsWith('charset='))
    ?.slice('charset='.length)
    .replaceAll('"', '')
  if (type !== expected || (charset !== undefined && charset !== 'utf-8' && charset !== 'utf8'))
    fail({ kind: 'UnsupportedMediaType', expected: EXPECTED_BODY.utf8(expected) })
}

const UTF_8 = new TextDecoder('utf-8', { fatal: true })

function decodeUtf8(bytes: Buffer): string {
  try {
    return UTF_8.decode(bytes)
  } catch {
    return fail({ kind: 'MalformedBody', reason: REASONS.bodyNotUtf8 })
  }
}
