import type { IncomingMessage } from 'node:http'
import type { Actor } from '../../domain/actor.js'

const ACTOR = Symbol('caller')

interface WithActor {
  [ACTOR]?: Actor
}

/**
 * Notes on a request whose token was verified who sends it, so that nobody behind looks the token up again.
 */
export function setRequestActor(req: IncomingMessage & WithActor, actor: Actor): void {
  req[ACTOR] = actor
}

/** Who sends a request, if it was noted. */
export const requestActorOf = (req: IncomingMessage & WithActor): Actor | undefined => req[ACTOR]
