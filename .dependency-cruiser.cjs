/**
 * Which folder of src/ may import which, from the innermost outwards:
 *   errors <- model <- query <- domain <- data <- service <- odata, graphql <- app <- main
 * A folder may import itself and the folders listed for it. `language` sits between query and the adapters,
 * `http` beside the adapters, `cli` and `sample` beside app. `settings`, `config` and `secret` are in config/.
 */
const LAYERS = {
  errors: [],
  model: ['errors'],
  query: ['errors', 'model'],
  language: ['errors', 'query'],
  domain: ['errors', 'model', 'query'],
  config: [],
  data: ['errors', 'model', 'query', 'domain', 'config'],
  sample: ['errors', 'model', 'domain', 'data'],
  service: ['errors', 'model', 'query', 'language', 'domain', 'data'],
  http: ['errors', 'domain', 'config'],
  odata: ['errors', 'model', 'query', 'language', 'domain', 'service', 'http', 'config'],
  graphql: ['errors', 'model', 'query', 'language', 'domain', 'service', 'http', 'config'],
  oauth: ['errors', 'domain', 'service', 'http', 'config'],
  process: [],
  replicate: [],
  cli: [
    'errors',
    'model',
    'query',
    'language',
    'domain',
    'data',
    'sample',
    'service',
    'http',
    'odata',
    'graphql',
    'config',
    'process',
    'replicate',
  ],
  app: [
    'errors',
    'model',
    'query',
    'language',
    'domain',
    'data',
    'sample',
    'service',
    'http',
    'odata',
    'graphql',
    'oauth',
    'config',
  ],
  main: ['errors', 'domain', 'http', 'config', 'process', 'app'],
}

/** Layers that are files at the top of src/, not folders. */
const LAYER_FILES = {
  app: [
    'app',
    'authentication',
    'services',
    'webhook-sender',
    'front-page-links',
    'observability',
    'prepare-database',
  ],
  main: ['main', 'cluster', 'env-file', 'typescript', 'typescript-hooks'],
}

/**
 * Which part of a layer may import which other parts of it. A part is a sub-folder, or a file at the top of the
 * layer, by its name. `data/sql` makes SQL and nothing else: it reads no file, opens no connection.
 */
const PARTS = {
  data: {
    semaphore: [],
    'fair-semaphore': [],
    'blocking-session': [],
    sql: [],
    postgres: ['sql', 'semaphore', 'fair-semaphore', 'blocking-session'],
    prisma: ['sql', 'postgres'],
    embedded: ['fair-semaphore', 'blocking-session'],
    database: ['sql', 'postgres', 'prisma', 'embedded', 'blocking-session'],
    migrate: ['database'],
    readiness: ['database', 'migrate'],
    read: ['sql', 'postgres/errors', 'prisma'],
    write: ['sql', 'postgres/errors', 'read'],
    changes: ['sql', 'database', 'postgres/errors', 'read'],
    'background-error': ['postgres/errors'],
    feeds: ['sql', 'database', 'clients'],
    clients: ['sql', 'database', 'changes'],
    webhooks: ['sql', 'database', 'clients'],
    import: ['sql', 'database', 'postgres/errors', 'prisma'],
  },
  graphql: {
    context: [],
    errors: ['context'],
    schema: ['context', 'errors'],
    execute: ['schema', 'context', 'errors'],
    limits: ['execute', 'schema', 'context', 'errors'],
    subscribe: ['limits', 'execute', 'schema', 'context', 'errors'],
    graphiql: [],
    transport: ['subscribe', 'limits', 'execute', 'schema', 'graphiql', 'context', 'errors'],
  },
  odata: {
    url: [],
    protocol: ['url'],
    metadata: ['protocol', 'url'],
    handlers: ['protocol', 'url'],
    routes: ['handlers', 'metadata', 'protocol', 'url'],
    dispatch: ['routes', 'protocol', 'url'],
    batch: ['dispatch', 'routes', 'protocol', 'url'],
    router: ['batch', 'dispatch', 'routes', 'handlers', 'metadata', 'protocol', 'url'],
  },
}

const pathOfLayer = layer =>
  LAYER_FILES[layer] ? `^src/(${LAYER_FILES[layer].join('|')})\\.(ts|mjs)$` : `^src/${layer}/`

const pathOfPart = layer => part => `^src/${layer}/${part}(/|\\.(ts|mjs)$)`

const layers = Object.entries(LAYERS).map(([layer, allowed]) => ({
  name: `layer-${layer}`,
  severity: 'error',
  comment: `${layer} may import ${allowed.join(', ') || 'nothing else of src'}.`,
  from: { path: pathOfLayer(layer) },
  to: { path: '^src/', pathNot: [layer, ...allowed].map(pathOfLayer) },
}))

const parts = Object.entries(PARTS).flatMap(([layer, rules]) => [
  ...Object.entries(rules).map(([part, allowed]) => ({
    name: `part-${layer}-${part}`,
    severity: 'error',
    comment: `${layer}/${part} may import ${allowed.join(', ') || `no other part of ${layer}`}.`,
    from: { path: pathOfPart(layer)(part) },
    to: { path: `^src/${layer}/`, pathNot: [part, ...allowed].map(pathOfPart(layer)) },
  })),
  {
    name: `part-${layer}-unknown`,
    severity: 'error',
    comment: `Every file of ${layer} belongs to a part that has a rule.`,
    from: { path: `^src/${layer}/`, pathNot: Object.keys(rules).map(pathOfPart(layer)) },
    to: {},
  },
])

module.exports = {
  forbidden: [
    ...layers,
    ...parts,
    {
      name: 'layer-unknown',
      severity: 'error',
      comment: 'Every file of src belongs to a layer that has a rule.',
      from: { path: '^src/', pathNot: Object.keys(LAYERS).map(pathOfLayer) },
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
          '^src/(query/(ast|functions|limits|representation|suggest|duration|memoize|plan-cache)|domain/(actor|json|lifecycle))\\.ts$',
        dependencyTypesNot: ['type-only'],
      },
    },
    {
      name: 'database-in-data',
      severity: 'error',
      comment:
        'Only data imports Prisma, pg and PGlite, and the replication client pg. The studio command starts the program of Prisma.',
      from: { path: '^src/', pathNot: '^src/(data/|replicate/targets/postgres)' },
      to: {
        path: 'node_modules/(@prisma|prisma|pg|pg-[a-z]+|pglite-prisma-adapter|@electric-sql)/',
        dependencyTypesNot: ['type-only'],
      },
    },
    {
      name: 'sql-is-pure',
      severity: 'error',
      comment: 'data/sql makes statements: no driver, no generated client, no input or output.',
      from: { path: '^src/data/sql/' },
      to: { path: '.', pathNot: '^(src/|util$|node:util$|node_modules/(sql-template-tag|lru-cache)/)' },
    },
    {
      name: 'no-folder-cycle',
      scope: 'folder',
      severity: 'error',
      comment: 'No cycles between folders.',
      from: { path: '^src/' },
      to: { circular: true },
    },
    {
      name: 'no-cycle',
      severity: 'error',
      comment: 'No cycles between files. Imports of types do not count: they are gone when the program runs.',
      from: { pathNot: '^src/data/prisma/client/' },
      to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
    },
    {
      name: 'sources-only',
      severity: 'error',
      comment: 'src imports neither the tools in prisma/ nor tests.',
      from: { path: '^src/' },
      to: { path: '^(prisma|test)/' },
    },
    {
      name: 'tests-outside',
      severity: 'error',
      comment: 'The service and its tools import no test and nothing of the benchmark.',
      from: { path: '^(src|prisma)/' },
      to: { path: '^(test|bench)/' },
    },
    {
      name: 'no-dev-packages',
      severity: 'error',
      comment: 'The service is installed and runs without the devDependencies.',
      from: { path: '^(src|prisma)/' },
      to: { dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'], dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'resolvable',
      severity: 'error',
      comment: 'Every import can be resolved.',
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
