// Prints the ten most expensive active listings that a public reader may see, each with its first photo.
//   DATABASE_URL=postgresql://… node --import ./src/typescript.mjs examples/open-listings.ts
// Without DATABASE_URL it reads the embedded database in DATA_DIR.
import { readSettings } from '../src/config/config.js'
import { openDatabase } from '../src/data/database.js'
import { createPageExtension } from '../src/data/prisma/page-extension.js'
import { DEFAULT_PARSE_LIMITS } from '../src/language/parse-limits.js'
import { parseQuery, readQueryOptions } from '../src/odata/url/query-options.js'

const LIMITS = { pageSize: 100, pageSizeMax: 1000, expandPageMax: 100, topIsTotal: false, expandDepth: 8 }
const PUBLIC_READER = { scopes: new Set(['listings:read'] as const), audience: 'public' } as const
const OPTIONS =
  "$filter=StandardStatus eq 'Active'&$orderby=ListPrice desc&$top=10&$select=ListingKey,City,ListPrice&$expand=Media($orderby=Order;$top=1;$select=MediaURL)"

const database = await openDatabase(readSettings(process.env), 'command')
try {
  const prisma = database.prisma.$extends(createPageExtension(LIMITS, { nonDisclosure: false }))
  const query = parseQuery(readQueryOptions(encodeURI(OPTIONS)), 'collection', DEFAULT_PARSE_LIMITS)
  for (const { ListingKey, City, ListPrice, Media } of await prisma.property.findPage(query, PUBLIC_READER))
    process.stdout.write(`${ListingKey}\t${City}\t${ListPrice}\t${JSON.stringify(Media)}\n`)
} finally {
  await database.close()
}
