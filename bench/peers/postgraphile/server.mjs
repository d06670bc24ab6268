// PostGraphile 5 with the Amber preset and the connection filter plugin.
// env: PORT, DATABASE_URL, POOL
import { createServer } from 'node:http'
import { postgraphile } from 'postgraphile'
import { makePgService } from 'postgraphile/adaptors/pg'
import { grafserv } from 'postgraphile/grafserv/node'
import { PostGraphileAmberPreset } from 'postgraphile/presets/amber'
import { PostGraphileConnectionFilterPreset } from 'postgraphile-plugin-connection-filter'

const preset = {
  extends: [PostGraphileAmberPreset, PostGraphileConnectionFilterPreset],
  pgServices: [
    makePgService({
      connectionString: `${process.env.DATABASE_URL}?options=${encodeURIComponent('-c timezone=UTC -c plan_cache_mode=force_custom_plan')}`,
      schemas: ['public'],
      poolConfig: { max: Number(process.env.POOL ?? 10) },
    }),
  ],
  grafserv: { graphqlPath: '/graphql', graphiql: false, websockets: false, maxRequestLength: 1 << 20 },
  grafast: { explain: false },
}
const serv = postgraphile(preset).createServ(grafserv)
const server = createServer()
await serv.addTo(server)
server.listen(Number(process.env.PORT ?? 4822), '127.0.0.1')
