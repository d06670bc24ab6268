import { mkdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestApp, type TestApp } from '../../../support/app.js'
import {
  type ClientProject,
  createClientProject,
  readPublishedSchema,
} from '../../../support/clients/client-project.js'
import { postQuery, queryData } from '../../../support/clients/graphql-client.js'
import { readCodeBlockOfFile } from '../../../support/clients/markdown.js'
import { createDrafts } from '../../../support/drafts.js'

const PAGE = 'graphql-clients.md'
const require = createRequire(import.meta.url)

interface Row {
  readonly id: string
  readonly ListingKey: string
  readonly ListPrice: number | null
  readonly Media: readonly unknown[]
}

interface List {
  readonly properties: {
    readonly edges: readonly { readonly cursor: string; readonly node: Row }[]
    readonly pageInfo: { readonly endCursor: string; readonly hasNextPage: boolean }
  }
}

describe('Relay', () => {
  let app: TestApp
  let program: ClientProject
  beforeAll(async () => {
    app = await startTestApp({ fixture: 'fixture.json', grant: { memberKey: 'M1' } })
    program = createClientProject()
    program.write('listing.graphql', readPublishedSchema())
    const config = JSON.parse(readCodeBlockOfFile(PAGE, 'relay.config.json')) as object // a block of the page
    // The artifacts as modules that Node takes.
    program.write('relay.config.json', JSON.stringify({ ...config, eagerEsModules: false }))
    program.write(
      'src/listings.js',
      `const { graphql } = require('relay-runtime')\n${readCodeBlockOfFile(PAGE, 'listings.js')}`,
    )
    mkdirSync(join(program.path, 'artifacts'))
    await program.run(require.resolve('relay-compiler/cli.js'), ['relay.config.json'])
  })
  afterAll(async () => {
    program.remove()
    await app.close()
  })

  /** The text that Relay sends for an operation, with the fields that the compiler has added. */
  const textOf = (name: string): string => {
    const compiled = require(join(program.path, `artifacts/${name}.graphql.js`)) as {
      readonly params: { readonly text: string }
    } // an artifact of the compiler
    return compiled.params.text
  }

  test('a connection is read page by page with the queries of the compiler', async () => {
    const pages: List[] = [await queryData<List>(app, textOf('listingsQuery'), { count: 7 })]
    for (
      let info = pages[0]?.properties.pageInfo;
      info?.hasNextPage;
      info = pages.at(-1)?.properties.pageInfo
    )
      pages.push(
        await queryData<List>(app, textOf('listingsPageQuery'), { count: 7, cursor: info.endCursor }),
      )
    const rows = pages.flatMap(({ properties }) => properties.edges.map(({ node }) => node))
    const prices = rows.map(({ ListPrice }) => ListPrice ?? -Infinity)
    expect(new Set(rows.map(({ id }) => id)).size).toBe(40)
    expect(prices).toEqual([...prices].sort((a, b) => b - a))
    expect(pages.map(({ properties }) => properties.edges.length)).toEqual([7, 7, 7, 7, 7, 5])
  })

  test('a record is read again by its id', async () => {
    const { properties } = await queryData<List>(app, textOf('listingsQuery'), {
      count: 1,
      filter: { ListingKey: { eq: 'P01' } },
    })
    const row = properties.edges[0]?.node
    const { node } = await queryData<{ node: Row }>(app, textOf('listingsRowQuery'), { id: row?.id })
    expect(node).toMatchObject({ id: row?.id, __typename: 'Property', ListingKey: 'P01', Media: row?.Media })
  })

  test('mutations answer with the fields that update the store', async () => {
    const [key = ''] = await createDrafts(app, 'Relayville', [{}])
    const { updateProperty } = await queryData<{ updateProperty: Row }>(
      app,
      textOf('listingsUpdateMutation'),
      {
        key,
        input: { ListPrice: 5.5 },
      },
    )
    expect(updateProperty).toMatchObject({ id: expect.any(String), ListingKey: key, ListPrice: 5.5 })
    expect(await queryData(app, textOf('listingsDeleteMutation'), { key })).toEqual({
      deleteProperty: { id: updateProperty.id },
    })
    const { data, errors } = await postQuery(app, textOf('listingsDeleteMutation'), { key })
    expect([data, errors?.[0]?.extensions.code]).toEqual([{ deleteProperty: null }, 'NOT_FOUND'])
  })
})
