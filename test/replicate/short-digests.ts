import type { TestApp } from '../support/app.js'
import type { DigestAnswer } from '../support/digest-client.js'
import type { Interception } from './proxy.js'

/** Returns an interception that ends each digest after some buckets, as the service does after 100,000 records. */
export const shortenDigests =
  (service: Pick<TestApp, 'send'>, maxBuckets: number): Interception =>
  async (req, res) => {
    if (!req.url?.startsWith('/odata/Digest(')) return false
    const headers = { Authorization: req.headers.authorization ?? '', Accept: req.headers.accept ?? '' }
    const answer = (await service.send(req.url, { headers })).json as DigestAnswer
    const last = answer.Ranges.findIndex(({ Buckets }) => Buckets.length > maxBuckets)
    const Ranges = answer.Ranges.slice(0, last < 0 ? undefined : last + 1).map((range, i) =>
      i === last
        ? {
            ...range,
            To: range.Buckets[maxBuckets]?.First ?? null,
            Buckets: range.Buckets.slice(0, maxBuckets),
          }
        : range,
    )
    res.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify({ ...answer, Ranges }))
    return true
  }
