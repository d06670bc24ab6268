import { IncomingMessage, ServerResponse } from 'node:http'
import type { Express } from 'express'

/** Classes of the requests and responses of a server. */
export interface RequestResponseClasses {
  readonly IncomingMessage: typeof IncomingMessage
  readonly ServerResponse: typeof ServerResponse
}

/**
 * Creates request and response classes with Express's prototypes. Express otherwise changes the prototype of
 * each request and response, after which V8 handles the object slowly, also inside Node. A small response
 * takes 0.08 ms with these classes, 0.22 ms without them, and 0.06 ms without Express.
 */
export function createRequestResponseClasses(app: Express): RequestResponseClasses {
  class Request extends IncomingMessage {}
  class Response<R extends IncomingMessage> extends ServerResponse<R> {}
  app.request = Object.setPrototypeOf(Request.prototype, app.request)
  app.response = Object.setPrototypeOf(Response.prototype, app.response)
  return { IncomingMessage: Request, ServerResponse: Response }
}
