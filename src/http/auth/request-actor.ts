import type { IncomingMessage } from 'node:http'
import type { Actor } from '../../domain/actor.js'

const CALLER = Symbol('caller')

interface Called {
  [CALLER]?: Actor
}

/**
 * Notes on a request whose token was verified who sends it, so that nobody behind looks the token up again.
 */
export function noteCaller(req: IncomingMessage & Called, actor: Actor): void {
  req[CALLER] = actor
}

/** Who sends a request, if it was noted. */
export const callerOf = (req: IncomingMessage & Called): Actor | undefined => req[CALLER]
