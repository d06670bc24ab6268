// A typical project with Apollo Server 5 and Prisma 7: schema first, plain resolvers, relations through
// Prisma's batched fluent API. It selects only the requested columns (SELECT=0 reads complete rows).
// env: PORT, DATABASE_URL, POOL, FIELDS (json), SELECT

import { createHash } from 'node:crypto'
import { ApolloServer } from '@apollo/server'
import { expressMiddleware } from '@as-integrations/express5'
import { PrismaPg } from '@prisma/adapter-pg'
import express from 'express'
import { GraphQLScalarType, Kind } from 'graphql'
import { PrismaClient } from './client.mjs'

const TYPES = JSON.parse(process.env.FIELDS),
  SELECT = process.env.SELECT !== '0'
const names = new Map()
const adapter = new PrismaPg(
  {
    connectionString: process.env.DATABASE_URL,
    max: Number(process.env.POOL ?? 10),
    options: '-c timezone=UTC -c plan_cache_mode=force_custom_plan',
  },
  {
    statementNameGenerator: q => {
      let n = names.get(q.sql)
      if (!n) {
        n = createHash('sha1').update(q.sql).digest('hex')
        names.set(q.sql, n)
      }
      return n
    },
  },
)
const prisma = new PrismaClient({ adapter })
const iso = n =>
  new GraphQLScalarType({
    name: n,
    serialize: v => (n === 'Date' ? v.toISOString().slice(0, 10) : v.toISOString()),
    parseValue: v => new Date(v),
    parseLiteral: v => new Date(v.value),
  })
const gqlType = (t, nn) =>
  (t === 'i'
    ? 'Int'
    : t === 't'
      ? 'DateTime'
      : t === 'D'
        ? 'Date'
        : t === 'b'
          ? 'Boolean'
          : t === 'c'
            ? '[String!]'
            : t[0] === 'd'
              ? 'Float'
              : 'String') + (nn ? '!' : '')
const fields = (t, input) => TYPES[t].map(([n, ty, nn]) => `${n}: ${gqlType(ty, !input && nn)}`).join('\n')
const ops = (n, t, more = '') =>
  `input ${n} { eq: ${t} ne: ${t} gt: ${t} gte: ${t} lt: ${t} lte: ${t} in: [${t}!] ${more} }`
const typeDefs = `
  scalar DateTime scalar Date
  type Media { ${fields('Media')} } type Rooms { ${fields('Rooms')} } type Member { ${fields('Member')} }
  type Property { ${fields('Property')} media(first: Int): [Media!]! rooms: [Rooms!]! listAgent: Member! }
  ${ops('StringOp', 'String', 'contains: String')} ${ops('IntOp', 'Int')} ${ops('FloatOp', 'Float')} ${ops('DateTimeOp', 'DateTime')} ${ops('DateOp', 'Date')} input BooleanOp { eq: Boolean } input ListOp { has: String }
  input PropertyFilter { ${TYPES.Property.map(([n, t]) => `${n}: ${t === 'c' ? 'ListOp' : `${gqlType(t)}Op`}`).join('\n')} AND: [PropertyFilter!] OR: [PropertyFilter!] NOT: PropertyFilter }
  enum PropertyField { ${TYPES.Property.map(x => x[3]).join(' ')} }
  input PropertyOrder { field: PropertyField! desc: Boolean }
  input PropertyInput { ${fields('Property', true)} }
  type PropertyPage { nodes: [Property!]! totalCount: Int! endCursor: String }
  type Query { property(listingKey: String!): Property properties(filter: PropertyFilter, orderBy: [PropertyOrder!], first: Int = 50, after: String): PropertyPage! }
  type Mutation { createProperty(data: PropertyInput!): Property! updateProperty(listingKey: String!, data: PropertyInput!): Property! deleteProperty(listingKey: String!): Boolean! }`
const toField = Object.fromEntries(TYPES.Property.map(x => [x[3], x[0]])),
  scalar = new Set(TYPES.Property.map(x => x[0]))
const where = f =>
  f &&
  Object.fromEntries(
    Object.entries(f).map(([k, v]) =>
      k === 'AND' || k === 'OR'
        ? [k, v.map(where)]
        : k === 'NOT'
          ? [k, where(v)]
          : [
              k,
              Object.fromEntries(
                Object.entries(v).map(([o, x]) => [o === 'eq' ? 'equals' : o === 'ne' ? 'not' : o, x]),
              ),
            ],
    ),
  )
const asked = (set, info, out = {}) => {
  for (const s of set.selections) {
    if (s.kind === Kind.FRAGMENT_SPREAD) asked(info.fragments[s.name.value].selectionSet, info, out)
    else if (s.kind === Kind.INLINE_FRAGMENT) asked(s.selectionSet, info, out)
    else if (scalar.has(s.name.value)) out[s.name.value] = true
  }
  return out
}
const select = (info, path) => {
  if (!SELECT) return undefined
  let set = info.fieldNodes[0].selectionSet
  for (const p of path) {
    set = set.selections.find(s => s.name?.value === p)?.selectionSet
    if (!set) return { listingKey: true }
  }
  return { listingKey: true, ...asked(set, info) }
}
const check = async key => {
  if (!key || !(await prisma.member.findUnique({ where: { memberKey: key }, select: { memberKey: true } })))
    throw new Error('unknown member')
}
let n = 0
const resolvers = {
  DateTime: iso('DateTime'),
  Date: iso('Date'),
  Query: {
    property: (_, { listingKey }, __, info) =>
      prisma.property.findUnique({ where: { listingKey }, select: select(info, []) }),
    properties: async (_, a, __, info) => {
      const w = where(a.filter)
      const nodes =
        a.first === 0
          ? []
          : await prisma.property.findMany({
              where: w,
              orderBy: a.orderBy?.map(o => ({ [toField[o.field]]: o.desc ? 'desc' : 'asc' })),
              take: a.first,
              ...(a.after ? { cursor: { listingKey: a.after }, skip: 1 } : {}),
              select: select(info, ['nodes']),
            })
      return {
        nodes,
        endCursor: nodes.at(-1)?.listingKey,
        totalCount: () => prisma.property.count({ where: w }),
      }
    },
  },
  Property: {
    media: (p, a) =>
      prisma.property
        .findUnique({ where: { listingKey: p.listingKey } })
        .media({ orderBy: { order: 'asc' }, take: a.first }),
    rooms: p =>
      prisma.property
        .findUnique({ where: { listingKey: p.listingKey } })
        .rooms({ orderBy: { roomKey: 'asc' } }),
    listAgent: p => prisma.property.findUnique({ where: { listingKey: p.listingKey } }).listAgent(),
  },
  Mutation: {
    createProperty: async (_, { data }) => {
      await check(data.listAgentKey)
      await check(data.listOfficeKey)
      return prisma.property.create({
        data: {
          ...data,
          listingKey: `Draft${process.pid}-${Date.now().toString(36)}-${n++}`,
          contractStatus: 'Draft',
          mlsStatus: 'Draft',
          standardStatus: 'Incomplete',
          originatingSystemName: 'BENCH',
          modificationTimestamp: new Date(),
        },
      })
    },
    updateProperty: async (_, { listingKey, data }, __, info) => {
      await check(data.changedByMemberKey)
      return prisma.property.update({
        where: { listingKey },
        data: { ...data, modificationTimestamp: new Date() },
        select: select(info, []),
      })
    },
    deleteProperty: async (_, { listingKey }) => {
      await prisma.property.delete({ where: { listingKey }, select: { listingKey: true } })
      return true
    },
  },
}
const server = new ApolloServer({ typeDefs, resolvers, introspection: false, csrfPrevention: true })
await server.start()
express()
  .use('/graphql', express.json(), expressMiddleware(server))
  .listen(Number(process.env.PORT), '127.0.0.1')
