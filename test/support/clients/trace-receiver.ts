import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

interface Attribute {
  readonly key: string
  readonly value: {
    readonly stringValue?: string
    readonly intValue?: number | string
    readonly boolValue?: boolean
  }
}

/** A span as OTLP/HTTP sends it in JSON. */
export interface ReceivedSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly kind: number
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly status: { readonly code?: number }
  readonly attributes: Readonly<Record<string, string | number | boolean | undefined>>
}

interface TraceRequest {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly Attribute[] }
    readonly scopeSpans: readonly {
      readonly spans: readonly (Omit<ReceivedSpan, 'attributes'> & {
        readonly attributes: readonly Attribute[]
      })[]
    }[]
  }[]
}

/** A collector that takes OTLP/HTTP in JSON. */
export interface TraceReceiver {
  readonly endpoint: string
  readonly spans: readonly ReceivedSpan[]
  /** The attributes of the resource of the last request. */
  resource(): ReceivedSpan['attributes']
  /** Everything that was received, as text. */
  text(): string
  close(): void
}

/** Starts a collector. `status`: what it answers. */
export async function startTraceReceiver(status = 200): Promise<TraceReceiver> {
  const spans: ReceivedSpan[] = []
  let resource: ReceivedSpan['attributes'] = {}
  let text = ''
  const server = createServer((req, res) => {
    const chunks: Buffer[] = []
    req.on('data', (chunk: Buffer) => chunks.push(chunk))
    req.on('end', () => {
      const body = Buffer.concat(chunks).toString()
      text += body
      if (req.url === '/v1/traces' && req.headers['content-type'] === 'application/json')
        for (const group of (JSON.parse(body) as TraceRequest).resourceSpans) {
          resource = valuesOf(group.resource.attributes)
          for (const span of group.scopeSpans.flatMap(scope => scope.spans))
            spans.push({ ...span, attributes: valuesOf(span.attributes) })
        }
      res.writeHead(status, { 'Content-Type': 'application/json' }).end('{}')
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo // it listens on a port
  return {
    endpoint: `http://127.0.0.1:${port}`,
    spans,
    resource: () => resource,
    text: () => text,
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}

const valuesOf = (attributes: readonly Attribute[]): ReceivedSpan['attributes'] =>
  Object.fromEntries(
    attributes.map(({ key, value }) => [
      key,
      value.stringValue ??
        value.boolValue ??
        (value.intValue === undefined ? undefined : Number(value.intValue)),
    ]),
  )
