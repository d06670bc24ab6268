import { LoadClient } from '../../support/load.js'
import { type Attack, type AttackContext, baseOf, repeat } from '../attack.js'

const CONNECTIONS = 50
/** The maximum of one filter. */
const PATTERNS = 24

const anyNumber = (): number => Math.floor(Math.random() * 1_000_000)

/** Compares 1,000 combinations of media for each listing. No two are the same, so no cache has the result. */
export const heavyFilter = (): string =>
  `Media/any(a:Media/any(b:Media/any(c:a/Order add b/Order add c/Order gt ${1000 + anyNumber()})))`

/** Searches the remarks of each listing with patterns that match late or never. */
const patternFilter = (): string =>
  Array.from(
    { length: PATTERNS },
    () => `matchespattern(PublicRemarks,'^.*(a|b|c)+.*(lake|pool).*x{1,9}${anyNumber()}$')`,
  ).join(' or ')

const graphqlQuery = (): string =>
  JSON.stringify({ query: `{ properties(where: ${JSON.stringify(heavyFilter())}) { totalCount } }` })

/** Reads that take seconds each, through every adapter. */
export const heavyRequests: readonly (() => readonly [target: string, body?: unknown])[] = [
  () => [`/odata/Property?$filter=${heavyFilter()}`],
  () => [`/odata/Property?$filter=${patternFilter()}&$count=true`],
  () => [`/odata/Property?$orderby=${heavyFilter()}&$top=1`],
  () => ['/graphql', JSON.parse(graphqlQuery())],
  () => [
    '/odata/$batch',
    {
      requests: Array.from({ length: 5 }, (_, i) => ({
        id: String(i),
        method: 'GET',
        url: `Property?$filter=${encodeURIComponent(heavyFilter())}`,
      })),
    },
  ],
]

export const heavyReads: Attack = {
  name: `heavy reads, ${CONNECTIONS} at a time`,
  expected: ['200'],
  allowed: /^(200|503)$/,
  async run(context: AttackContext) {
    const client = new LoadClient(baseOf(context.target), context.target.readToken)
    await repeat(context, CONNECTIONS, async loop => {
      const [target, body] = heavyRequests[loop % heavyRequests.length]?.() ?? ['/odata']
      const sent = client.start(target, body === undefined ? {} : { method: 'POST', body })
      // A read that is still running at the end is aborted.
      const watch = setInterval(() => context.isOver() && sent.abort(), 200)
      const status = await sent.status
      clearInterval(watch)
      if (status !== undefined || !context.isOver()) context.count(status ?? 'no answer')
    })
    client.close()
  },
}
