import { defineConfig } from 'prisma/config'

const url = process.env['DATABASE_URL']

/**
 * For commands of Prisma that need no database (generate) or get its address from this project (studio).
 */
export default defineConfig({
  schema: 'prisma/schema.prisma',
  migrations: { path: 'prisma/migrations' },
  ...(url && { datasource: { url } }),
})
