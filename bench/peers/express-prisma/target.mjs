import { SHARED } from '../../data/cluster.mjs'
import { TABLES } from '../../data/tables.mjs'
import { toODataForms, withConstant } from '../../forms-odata.mjs'
import { keyBefore } from '../deep-page.mjs'
import { generateClient } from '../prisma.mjs'

const odata = toODataForms('/odata')
export const forms = {
  'express-prisma': {
    ...odata,
    'filter-functions': withConstant(odata['filter-functions']),
    'page-1000': values => ({
      path: `${odata['page-1'](values).path}&$skiptoken=${Buffer.from(JSON.stringify([keyBefore(values)])).toString('base64url')}`,
    }),
  },
}

export const server = {
  name: 'express-prisma',
  port: 4824,
  database: SHARED,
  settle: 1500,
  env: { COLUMNS: JSON.stringify(TABLES.Property.map(({ name, type }) => [name, type])) },
  command: () => [process.execPath, 'server.mjs'],
  prepare: ({ cwd, env }) => generateClient(cwd, env),
}
