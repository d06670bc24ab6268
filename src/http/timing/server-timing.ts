import type { IncomingMessage, ServerResponse } from 'node:http'
import onHeaders from 'on-headers'
import type { Audience } from '../../domain/actor.js'
import type { RequestStage, StageListener } from '../../domain/request-scope.js'
import { verifiedTokenOf } from '../auth/authenticate-request.js'
import { addStageListener } from './stage-listeners.js'

/** The preference that requests Server-Timing (RFC 7240). */
const PREFERENCE = /(?:^|,)\s*server-timing\s*(?:[;,]|$)/i

const STAGES: readonly RequestStage[] = ['parse', 'bind', 'connection', 'lock', 'statement']

/** The total time of each stage of a request. Concurrent stages each count in full. */
class StageTimes implements StageListener {
  readonly #startedAt = performance.now()
  readonly #sums = new Map<RequestStage, number>()

  onStage(stage: RequestStage, startedAt: number, endedAt: number): void {
    this.#sums.set(stage, (this.#sums.get(stage) ?? 0) + endedAt - startedAt)
  }

  /** Returns the value of Server-Timing (W3C Server Timing, 3): by stage for staff, the total for others. */
  render(audience: Audience): string {
    const total = performance.now() - this.#startedAt
    if (audience !== 'staff') return `total;dur=${Math.round(total)}`
    const stages = STAGES.map(stage => `${stage};dur=${(this.#sums.get(stage) ?? 0).toFixed(1)}`)
    return [...stages, `total;dur=${total.toFixed(1)}`].join(', ')
  }
}

/**
 * Adds Server-Timing to the response of a request that prefers it and has a valid token. Pages of other origins may
 * read it if CORS_ORIGINS names them.
 */
export function offerServerTiming(req: IncomingMessage, res: ServerResponse, next: () => void): void {
  const { prefer } = req.headers
  if (prefer !== undefined && PREFERENCE.test(String(prefer))) startTiming(req, res)
  next()
}

function startTiming(req: IncomingMessage, res: ServerResponse): void {
  const times = new StageTimes()
  addStageListener(req, times)
  onHeaders(res, () => {
    const token = verifiedTokenOf(req)
    if (!token) return
    res.setHeader('Server-Timing', times.render(token.actor.audience))
    const origin = res.getHeader('Access-Control-Allow-Origin')
    if (origin !== undefined) res.setHeader('Timing-Allow-Origin', origin)
  })
}
