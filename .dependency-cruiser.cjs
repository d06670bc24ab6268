/**
 * Who may import whom. The rooms of src/, from the innermost outwards; each may import itself and what stands
 * before it:
 * errors <- model <- query <- domain <- data <- service, writing, following <- odata, graphql <- app <- main
 * language, the text form of queries, stands between query and the adapters; http stands beside the adapters,
 * cli beside app; settings, config and secret may be read from http outwards.
 */
const ROOMS = {
  errors: [],
  model: ['errors'],
  query: ['errors', 'model'],
  language: ['errors', 'query'],
  domain: ['errors', 'model', 'query'],
  data: ['errors', 'model', 'query', 'domain', 'settings'],
  service: ['errors', 'model', 'query', 'domain', 'data'],
  http: ['errors', 'domain', 'settings'],
  odata: ['errors', 'model', 'query', 'language', 'domain', 'service', 'http', 'settings'],
  graphql: ['errors', 'model', 'query', 'language', 'domain', 'service', 'http', 'settings'],
  cli: ['errors', 'model', 'query', 'domain', 'data', 'http', 'odata', 'graphql', 'settings'],
  app: ['errors', 'model', 'query', 'domain', 'data', 'service', 'http', 'odata', 'graphql', 'settings'],
  main: ['errors', 'domain', 'http', 'settings', 'app'],
  settings: [],
}

/** Rooms that are files at the top of src/, not folders. */
const FILES = {
  service: ['service', 'writing', 'following'],
  app: ['app'],
  main: ['main', 'workers', 'typescript'],
  settings: ['settings', 'config', 'secret'],
}

const pathOf = room => (FILES[room] ? `^src/(${FILES[room].join('|')})\\.(ts|mjs)$` : `^src/${room}/`)

const rooms = Object.entries(ROOMS).map(([room, allowed]) => ({
  name: `room-${room}`,
  severity: 'error',
  comment: `${room} may import ${allowed.join(', ') || 'nothing of src'}.`,
  from: { path: pathOf(room) },
  to: { path: '^src/', pathNot: [room, ...allowed].map(pathOf) },
}))

module.exports = {
  forbidden: [
    ...rooms,
    {
      name: 'no-room',
      severity: 'error',
      comment: 'Every file of src stands in a room that has a rule.',
      from: { path: '^src/', pathNot: Object.keys(ROOMS).map(pathOf) },
      to: {},
    },
    {
      name: 'adapters-take-tables-and-types',
      severity: 'error',
      comment:
        'An adapter hands a query to the port. Of query and domain it takes types, and tables such as the functions and the transitions.',
      from: { path: '^src/(odata|graphql)/' },
      to: {
        path: '^src/(query|domain)/',
        pathNot:
          '^src/(query/(ast|functions|limits|notation|suggest|duration|remember)|domain/(access|json|lifecycle))\\.ts$',
        dependencyTypesNot: ['type-only'],
      },
    },
    {
      name: 'database-in-data',
      severity: 'error',
      comment: 'Prisma, PostgreSQL and PGlite stand only in data; studio starts the program of Prisma.',
      from: { path: '^src/', pathNot: '^src/data/' },
      to: {
        path: 'node_modules/(@prisma|prisma|pg|pg-[a-z]+|pglite-prisma-adapter|@electric-sql)/',
        dependencyTypesNot: ['type-only'],
      },
    },
    {
      name: 'no-cycle',
      severity: 'error',
      comment:
        'No cycles. Between two files of types alone there is none: they are gone when the program runs.',
      from: { pathNot: '^src/data/prisma/client/' },
      to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
    },
    {
      name: 'tools-beside-src',
      severity: 'error',
      comment:
        'prisma/ holds the model and the sample market; src takes the market from it, and nothing else.',
      from: { path: '^src/' },
      to: { path: '^(prisma|test)/', pathNot: '^prisma/seed/' },
    },
    {
      name: 'tests-outside',
      severity: 'error',
      comment: 'Nothing of the service or its tools rests on a test or on the benchmark.',
      from: { path: '^(src|prisma)/' },
      to: { path: '^(test|bench)/' },
    },
    {
      name: 'no-dev-packages',
      severity: 'error',
      comment: 'The service runs without the devDependencies.',
      from: { path: '^src/' },
      to: { dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'], dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'resolvable',
      severity: 'error',
      comment: 'Every import leads somewhere.',
      from: {},
      to: { couldNotResolve: true },
    },
  ],
  options: {
    doNotFollow: { path: ['node_modules', '^src/data/prisma/client/'] },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'require', 'node', 'default'],
      mainFields: ['module', 'main', 'types'],
    },
  },
}
