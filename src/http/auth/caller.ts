import type { RequestDescription } from '../../domain/request-scope.js'
import { toLoggedName } from '../log.js'
import type { VerifiedToken } from './bearer.js'

/** The caller of a request, as the log names it. */
export type Caller = Pick<RequestDescription, 'client' | 'subject' | 'feed'>

const CLIENT_ID_PREFIX = 'client_id '
const SUBJECT_PREFIX = 'sub '

/**
 * Returns the names of a verified token: its client, its subject if that differs, and the feed that restricts it.
 * A token without client and subject is identified by its fingerprint.
 */
export function callerOf({ actor, clientId, subject, client }: VerifiedToken): Caller {
  const feed = actor.feed?.name ?? client?.feed
  const name = clientId.startsWith(CLIENT_ID_PREFIX) ? clientId.slice(CLIENT_ID_PREFIX.length) : clientId
  return {
    ...(!clientId.startsWith(SUBJECT_PREFIX) && { client: toLoggedName(name) }),
    ...(subject !== undefined && subject !== name && { subject: toLoggedName(subject) }),
    ...(feed !== undefined && { feed }),
  }
}
