import type { ServerResponse } from 'node:http'
import type { Request } from 'express'
import type { Config } from '../config/config.js'
import type { Verifier } from '../http/auth/bearer.js'
import { callerOf } from '../http/auth/request-actor.js'
import { baseUrl } from '../http/base-url.js'
import { checkMediaType, readBody, readJsonObject } from '../http/body.js'
import { type BatchSettings, serveBatch } from './batch/batch.js'
import { openRequest, perform } from './dispatch.js'
import { type Body, ODATA_PATH, type ODataRequest, type Service } from './protocol/request.js'
import { type Answer, type StreamedAnswer, send, toFailureAnswer } from './protocol/response.js'
import { versionFor } from './protocol/version.js'

/** What the adapter is made of. */
export interface ODataParts extends Service {
  readonly config: BatchSettings & Pick<Config, 'publicUrl' | 'trustProxy' | 'maxBodyBytes'>
  readonly verifier: Verifier
  /** Logs a fault of the service and gives the id under which it stands in the log. */
  readonly report: (error: unknown, req: Request) => string
}

/** Answers every request below the service root, whatever becomes of it: nothing is left to Express. */
export function serveOData(parts: ODataParts): (req: Request, res: ServerResponse) => Promise<void> {
  return async (req, res) => {
    try {
      await send(res, await answerAnyway(req, parts), versionFor(req.headers))
    } catch (error) {
      // An answer that could not be written ends with its connection: half of one must not look whole.
      parts.report(error, req)
      res.destroy()
    }
  }
}

async function answerAnyway(req: Request, parts: ODataParts): Promise<Answer | StreamedAnswer> {
  try {
    return await answerRequest(req, parts)
  } catch (error) {
    return toFailureAnswer(error, fault => parts.report(fault, req))
  }
}

/** The order of the checks is that of what they tell: without a token nobody learns what there is. */
async function answerRequest(req: Request, parts: ODataParts): Promise<Answer | StreamedAnswer> {
  const { config } = parts
  const { method, headers } = req
  const actor =
    callerOf(req) ??
    parts.verifier.recall(headers.authorization)?.actor ??
    (await parts.verifier.verify(headers.authorization))
  const root = `${baseUrl(req, config)}${ODATA_PATH}/`
  const { rawPath, rawQuery } = toTarget(req.originalUrl)
  const small = bodyOf(req, config.maxBodyBytes)
  const opened = openRequest(
    { method, root, headers, actor, rawPath, rawQuery, readBody: small.readBody, readText: small.readText },
    config,
  )
  if (opened.path.kind !== 'batch' || method !== 'POST') return perform(opened, parts)
  const large = {
    json: () => readJsonObject(req, config.maxBatchBytes),
    bytes: () => readBody(req, config.maxBatchBytes),
  }
  return serveBatch(opened.request, large, { ...parts, report: error => parts.report(error, req) })
}

const bodyOf = (req: Request, limit: number): Body => ({
  readBody() {
    return readJsonObject(req, limit)
  },
  async readText() {
    checkMediaType(req.headers['content-type'], 'text/plain')
    return (await readBody(req, limit)).toString('latin1')
  },
})

/**
 * Path below the service root and query string. A proxy may send the whole address (RFC 9112, 3.2.2); Express
 * shortens `url`, but not this one.
 */
function toTarget(originalUrl: string): Pick<ODataRequest, 'rawPath' | 'rawQuery'> {
  const target = originalUrl.startsWith('/')
    ? originalUrl
    : originalUrl.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?]*/i, '')
  const end = target.indexOf('?')
  const path = target.slice(ODATA_PATH.length, end < 0 ? undefined : end)
  return { rawPath: path.replace(/^\/+/, ''), rawQuery: end < 0 ? '' : target.slice(end + 1) }
}
