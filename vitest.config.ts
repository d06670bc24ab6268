import { configDefaults, defineConfig } from 'vitest/config'

export default defineConfig({
  // Node takes the one build of graphql, Vite would take another, and the packages that use it refuse two
  // builds.
  resolve: { alias: [{ find: /^graphql$/, replacement: 'graphql/index.js' }] },
  test: {
    include: ['test/**/*.test.ts'],
    // The market of 200,000 listings takes a minute to fill and read: `.ci/run` runs it as a separate step.
    exclude: [...configDefaults.exclude, ...(process.env['TEST_MARKET'] ? [] : ['test/market/**'])],
    globalSetup: ['test/support/setup.ts'],
    // An embedded database takes 0.5 GB of memory and a core: two files at a time.
    maxWorkers: 2,
    testTimeout: 30_000,
    // By default a poll ends after a second, which is too short on a loaded machine.
    expect: { poll: { timeout: 20_000 } },
    hookTimeout: 60_000,
  },
})
