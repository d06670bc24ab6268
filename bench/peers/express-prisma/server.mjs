// A typical hand-written OData route: Express 5 and a URL parser from npm, whose syntax tree is converted to
// Prisma arguments.
// env: PORT, DATABASE_URL, POOL, COLUMNS (json)

import { createHash } from 'node:crypto'
import odata from '@odata/parser'
import { PrismaPg } from '@prisma/adapter-pg'
import express from 'express'
import { PrismaClient } from './client.mjs'

const { defaultParser } = odata,
  COLUMNS = JSON.parse(process.env.COLUMNS)
const dates = new Set(COLUMNS.filter(c => c[1] === 'D').map(c => c[0])),
  decimals = new Set(COLUMNS.filter(c => c[1][0] === 'd').map(c => c[0]))
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
const bad = m => Object.assign(new Error(m), { status: 400 })
const literal = t => {
  const v = t.value,
    r = t.raw
  return v === 'Edm.String'
    ? r.slice(1, -1).replaceAll("''", "'")
    : v === 'Edm.DateTimeOffset' || v === 'Edm.Date'
      ? new Date(r)
      : v === 'Edm.Boolean'
        ? r === 'true'
        : r === 'null'
          ? null
          : Number(r)
}
const OPS = {
  EqualsExpression: 'equals',
  NotEqualsExpression: 'not',
  GreaterThanExpression: 'gt',
  GreaterOrEqualsExpression: 'gte',
  LesserThanExpression: 'lt',
  LesserOrEqualsExpression: 'lte',
}
const ENDS = new Set(['Literal', 'ODataIdentifier', 'MethodCallExpression'])
const leaf = t => (t && !ENDS.has(t.type) && t.value?.type ? leaf(t.value) : t)
const name = t => {
  const x = leaf(t)
  return x?.type === 'ODataIdentifier' ? x.value.name : x?.raw
}
function cond(t) {
  if (t.type === 'AndExpression') return { AND: [cond(t.value.left), cond(t.value.right)] }
  if (t.type === 'OrExpression') return { OR: [cond(t.value.left), cond(t.value.right)] }
  if (OPS[t.type]) {
    const { left, right } = t.value,
      l = leaf(left),
      r = leaf(right)
    if (l.type === 'MethodCallExpression' && l.value.method === 'year' && t.type === 'EqualsExpression') {
      const y = Number(r.raw),
        f = name(l.value.parameters[0])
      return { [f]: { gte: new Date(Date.UTC(y, 0)), lt: new Date(Date.UTC(y + 1, 0)) } }
    }
    if (r.type !== 'Literal') throw bad(`not supported: ${t.raw}`)
    return { [name(left)]: { [OPS[t.type]]: literal(r) } }
  }
  if (t.type === 'MethodCallExpression') {
    const {
        method,
        parameters: [a, b],
      } = t.value,
      x = leaf(a)
    if (['contains', 'startswith', 'endswith'].includes(method)) {
      const low = x.type === 'MethodCallExpression' && x.value.method === 'tolower'
      return {
        [name(low ? x.value.parameters[0] : a)]: {
          [method === 'contains' ? 'contains' : method === 'startswith' ? 'startsWith' : 'endsWith']: literal(
            leaf(b),
          ),
          ...(low ? { mode: 'insensitive' } : {}),
        },
      }
    }
  }
  const any = /^(\w+)\/any\((\w+):\2 eq '((?:[^']|'')*)'\)$/.exec(t.raw)
  if (any) return { [any[1]]: { has: any[3].replaceAll("''", "'") } }
  if (t.value?.type) return cond(t.value)
  throw bad(`not supported: ${t.raw}`)
}
function args(opts) {
  const a = {}
  for (const o of opts ?? []) {
    if (o.type === 'Filter') a.where = cond(o.value)
    else if (o.type === 'OrderBy')
      a.orderBy = o.value.items.map(i => ({
        [name(i.value.expr)]: i.value.direction === -1 ? 'desc' : 'asc',
      }))
    else if (o.type === 'Top') a.take = Number(o.value.raw)
    else if (o.type === 'Skip') a.skip = Number(o.value.raw)
    else if (o.type === 'Select') a.select = Object.fromEntries(o.value.items.map(i => [i.raw, true]))
    else if (o.type === 'InlineCount') a.count = o.value.raw === 'true'
    else if (o.type === 'Expand')
      a.expand = Object.fromEntries(
        o.value.items.map(i => [
          i.value.path.raw,
          (({ count, ...x }) => (Object.keys(x).length ? x : true))(args(i.value.options)),
        ]),
      )
  }
  return a
}
const json = r => {
  for (const k in r) {
    const v = r[k]
    if (v === null) continue
    if (decimals.has(k) || k === 'RoomArea') r[k] = Number(v)
    else if (dates.has(k)) r[k] = v.toISOString().slice(0, 10)
  }
  for (const room of r.Rooms ?? []) json(room)
  return r
}
const app = express().disable('x-powered-by').set('etag', false),
  CTX = '$metadata#Property'
app.use(express.json())
app.use((_req, res, next) => {
  res.set('OData-Version', '4.01')
  next()
})
const KEY = /^\/Property\('((?:[^']|'')*)'\)$/
app.use('/odata', async (req, res, next) => {
  try {
    const m = KEY.exec(decodeURIComponent(req.path)),
      key = m?.[1].replaceAll("''", "'")
    if (req.method === 'GET' && key !== undefined) {
      const r = await prisma.property.findUnique({ where: { ListingKey: key } })
      return r
        ? res.json({ '@odata.context': `${CTX}/$entity`, ...json(r) })
        : res.status(404).json({ error: { code: '404', message: 'not found' } })
    }
    if (req.method === 'GET') {
      const i = req.url.indexOf('?'),
        query = i < 0 ? '' : decodeURIComponent(req.url.slice(i + 1)),
        tok = /&?\$skiptoken=([^&]*)/.exec(query)
      const a = args(defaultParser.query(query.replace(/&?\$skiptoken=[^&]*/, '')).value.options)
      const q = {
        where: a.where,
        orderBy: a.orderBy,
        take: a.take ?? 100,
        skip: a.skip,
        relationLoadStrategy: a.expand ? 'join' : undefined,
      }
      if (tok) {
        const [k] = JSON.parse(Buffer.from(tok[1], 'base64url'))
        q.cursor = { ListingKey: k }
        q.skip = 1
      }
      if (a.select) q.select = { ...a.select, ...a.expand, ListingKey: true }
      else if (a.expand) q.include = a.expand
      const [rows, count] = await Promise.all([
        q.take === 0 ? [] : prisma.property.findMany(q),
        a.count ? prisma.property.count({ where: a.where }) : undefined,
      ])
      const next =
        rows.length >= q.take && q.take > 0
          ? `http://${req.headers.host}${req.originalUrl.replace(/&\$skiptoken=[^&]*/, '')}&$skiptoken=${Buffer.from(JSON.stringify([rows.at(-1).ListingKey])).toString('base64url')}`
          : undefined
      return res.json({
        '@odata.context': CTX,
        '@odata.count': count,
        value: rows.map(json),
        '@odata.nextLink': next,
      })
    }
    const member = async k => {
      if (!k || !(await prisma.member.findUnique({ where: { MemberKey: k }, select: { MemberKey: true } })))
        throw bad('unknown member')
    }
    if (req.method === 'PATCH') {
      await member(req.body.ChangedByMemberKey)
      await prisma.property.update({
        where: { ListingKey: key },
        data: { ...req.body, ModificationTimestamp: new Date() },
        select: { ListingKey: true },
      })
      return res.status(204).end()
    }
    if (req.method === 'POST') {
      await member(req.body.ListAgentKey)
      await member(req.body.ListOfficeKey)
      const r = await prisma.property.create({
        data: {
          ...req.body,
          ListingKey: `Draft${crypto.randomUUID()}`,
          ContractStatus: 'Draft',
          MlsStatus: 'Draft',
          StandardStatus: 'Incomplete',
          OriginatingSystemName: 'BENCH',
          ModificationTimestamp: new Date(),
        },
      })
      return res.status(201).json({ '@odata.context': CTX, ...json(r) })
    }
    if (req.method === 'DELETE') {
      await prisma.property.delete({ where: { ListingKey: key }, select: { ListingKey: true } })
      return res.status(204).end()
    }
    next()
  } catch (e) {
    res
      .status(e.status ?? 500)
      .json({ error: { code: String(e.status ?? 500), message: e.message.slice(0, 300) } })
  }
})
app.listen(Number(process.env.PORT), '127.0.0.1')
