import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'

/** Answers a request in place of the service. Returns false to pass it on. */
export type Interception = (req: IncomingMessage, res: ServerResponse) => boolean | Promise<boolean>

/** A proxy before a service, or a server of its own, that can refuse and drop requests. */
export interface TestProxy {
  readonly base: string
  intercept: Interception
  /** Targets of all requests, in their order. */
  readonly requests: string[]
  /** Authorization headers that arrived. */
  readonly authorizations: Set<string>
  close(): void
}

export async function startProxy(
  serviceBase: string,
  intercept: Interception = () => false,
): Promise<TestProxy> {
  const server = createServer(async (req, res) => {
    proxy.requests.push(req.url ?? '')
    proxy.authorizations.add(req.headers.authorization ?? '')
    if (await proxy.intercept(req, res)) return
    const { method = 'GET', url = '', headers } = req
    const passed = request(serviceBase + url, { method, headers, agent: false }, answer => {
      res.writeHead(answer.statusCode ?? 0, answer.headers)
      answer.pipe(res)
    })
    passed.on('error', () => res.destroy())
    req.pipe(passed)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' && address ? address.port : 0
  const proxy: TestProxy = {
    base: `http://127.0.0.1:${port}`,
    intercept,
    requests: [],
    authorizations: new Set(),
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
  return proxy
}
