import { IncomingMessage, ServerResponse } from 'node:http'
import type { Express } from 'express'

/** What a server makes its requests and responses of. */
export interface MessageClasses {
  readonly IncomingMessage: typeof IncomingMessage
  readonly ServerResponse: typeof ServerResponse
}

/**
 * Express gives every request and response a prototype of its own, and V8 is slow with an object whose
 * prototype was changed, from then on and in Node too: a small answer took 0.22 ms. Made of these classes
 * they have that prototype from the start, and Express finds nothing to change: 0.08 ms (0.06 without
 * Express).
 */
export function createMessageClasses(app: Express): MessageClasses {
  class Request extends IncomingMessage {}
  class Response<R extends IncomingMessage> extends ServerResponse<R> {}
  app.request = Object.setPrototypeOf(Request.prototype, app.request)
  app.response = Object.setPrototypeOf(Response.prototype, app.response)
  return { IncomingMessage: Request, ServerResponse: Response }
}
