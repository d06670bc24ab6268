import { defineConfig } from 'prisma/config'

const url = process.env['DATABASE_URL']

/**
 * For the commands of prisma that need no database of their own (generate) or get its address from us
 * (studio).
 */
export default defineConfig({
  schema: 'prisma/schema.prisma',
  migrations: { path: 'prisma/migrations' },
  ...(url && { datasource: { url } }),
})
