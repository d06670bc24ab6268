import type { RequestDescription } from '../../domain/request-scope.js'
import { toLoggedName } from '../log.js'
import type { VerifiedToken } from './bearer.js'

/** The caller of a request, as the log names it. */
export type Caller = Pick<RequestDescription, 'client' | 'subject' | 'feed'>

const CLIENT_ID_PREFIX = 'client_id '
const SUBJECT_PREFIX = 'sub '

/**
 * Returns the names of a verified token: the client that it was issued to, its subject if that is another one, and
 * the feed of the client. A token that names neither is named by its fingerprint.
 */
export function callerOf({ clientId, subject, client }: VerifiedToken): Caller {
  const name = clientId.startsWith(CLIENT_ID_PREFIX) ? clientId.slice(CLIENT_ID_PREFIX.length) : clientId
  return {
    ...(!clientId.startsWith(SUBJECT_PREFIX) && { client: toLoggedName(name) }),
    ...(subject !== undefined && subject !== name && { subject: toLoggedName(subject) }),
    ...(client?.feed !== undefined && { feed: client.feed }),
  }
}
