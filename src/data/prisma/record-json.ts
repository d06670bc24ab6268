import type { Scalar } from '../../model/model.js'
import type { ControlInformation } from '../../query/ast.js'
import { type Expansion, type Expr, isFalse, type OrderByTerm, type Plan } from '../../query/plan.js'
import type { Representation } from '../../query/representation.js'
import { evaluateCondition } from './evaluate.js'
import { isCounted } from './find-args.js'
import { countedNavigationOf } from './order-by.js'
import { type RecordLayout, toRecordLayout } from './record-layout.js'

/** A record as Prisma returns it: fields, related records, and `_count`. */
export type PrismaRecord = Readonly<Record<string, unknown>>

/** A value with the methods of a Prisma Decimal. */
interface DecimalValue {
  toFixed(): string
}

/** A member of a record's JSON: its name and the text of its value. */
type JsonMember = readonly [name: string, json: string]

/**
 * Writes the JSON of a record, byte for byte as the SQL engine does (data/sql/json). The layout is that of the
 * plan that `toFindArgs` translated.
 */
export function toRecordText(plan: Plan, representation: Representation, record: PrismaRecord): string {
  const layout = toRecordLayout(plan, representation)
  if (!layout) throw new Error('The plan has computed values')
  const members = [
    ...toMetaMembers(layout, representation, record),
    ...layout.fields.flatMap(item => toFieldMembers(item, representation, record)),
    ...layout.expansions.flatMap(e => toExpansionMembers(e, representation, record)),
  ]
  const all = [
    ...(plan.memberOrder ? sortByOrder(members, plan.memberOrder) : members),
    ...toRestrictionMembers(layout, representation, record),
    // A plan with its own order of members has no layout.
    ...layout.storedFields.flatMap(item => toFieldMembers(item, representation, record)),
  ]
  return `{${all.map(([name, json]) => `${JSON.stringify(name)}:${json}`).join(',')}}`
}

/** The selected fields and related records, with null in the fields that the plan hides from its reader. */
export function maskRecord(plan: Plan, record: PrismaRecord): PrismaRecord {
  const fields = plan.select.map(item => {
    if (item.kind === 'computed') return [item.name, null] as const
    const { scalar, readableIf, as: name = scalar.name } = item
    const isReadable = !readableIf || evaluateCondition(readableIf, record)
    return [name, isReadable ? record[scalar.name] : scalar.collection ? [] : null] as const
  })
  const related = plan.expand.map(({ navigation, plan: inner }): readonly [string, unknown] => {
    const value = record[navigation.name] as readonly PrismaRecord[] | PrismaRecord | null | undefined // by the schema
    if (Array.isArray(value)) return [navigation.name, value.map(row => maskRecord(inner, row))]
    return [navigation.name, value ? maskRecord(inner, value as PrismaRecord) : null]
  })
  return Object.fromEntries([...fields, ...related])
}

function sortByOrder(members: readonly JsonMember[], order: readonly string[]): readonly JsonMember[] {
  const byName = new Map(members.map(member => [member[0], member]))
  return order.map(name => byName.get(name)).filter(member => member !== undefined)
}

/** Returns the version of a record as `RecordJson` has it, or null for entities without versions. */
export const versionOf = (record: PrismaRecord): string | null =>
  record['RecordVersion'] === undefined ? null : String(record['RecordVersion'])

function etagJson(record: PrismaRecord): string {
  const version = versionOf(record)
  return version === null ? 'null' : JSON.stringify(`W/"${version}"`)
}

function toMetaMembers(
  { plan: { entity, controlInformation = [] } }: RecordLayout,
  { etag }: Representation,
  record: PrismaRecord,
): readonly JsonMember[] {
  const toJson = ({ kind }: ControlInformation): string => {
    if (kind === 'type') return JSON.stringify(entity.typeName)
    if (kind === 'etag') return etagJson(record)
    const id = `${entity.typeName}:${String(record[entity.key.name])}`
    return JSON.stringify(Buffer.from(id).toString('base64url'))
  }
  return [
    ...(etag !== undefined && entity.hidden.has('RecordVersion') ? [[etag, etagJson(record)] as const] : []),
    ...controlInformation.map(field => [field.as, toJson(field)] as const),
  ]
}

function toFieldMembers(
  { scalar, readableIf, as: name = scalar.name }: RecordLayout['fields'][number],
  representation: Representation,
  record: PrismaRecord,
): readonly JsonMember[] {
  if (readableIf && isFalse(readableIf)) {
    const { restricted } = representation
    return [
      ...(restricted ? [[name + restricted.suffix, JSON.stringify(restricted.value)] as const] : []),
      [name, scalar.collection ? '[]' : 'null'],
    ]
  }
  const isReadable = !readableIf || evaluateCondition(readableIf, record)
  return [[name, isReadable ? toValueText(scalar, record, representation) : 'null']]
}

/** The annotations of the fields that this record hides from the reader. */
function toRestrictionMembers(
  { plan: { select } }: RecordLayout,
  { restricted }: Representation,
  record: PrismaRecord,
): readonly JsonMember[] {
  if (!restricted) return []
  return groupByCondition(select)
    .filter(([condition]) => !evaluateCondition(condition, record))
    .flatMap(([, names]) =>
      names.map(name => [name + restricted.suffix, JSON.stringify(restricted.value)] as const),
    )
}

/** Names of fields by the condition of their permission, in the order in which the conditions first appear. */
function groupByCondition(select: Plan['select']): readonly (readonly [Expr, readonly string[]])[] {
  const groups = new Map<string, { readonly condition: Expr; readonly names: string[] }>()
  for (const item of select) {
    if (item.kind !== 'field' || !item.readableIf || isFalse(item.readableIf)) continue
    const key = JSON.stringify(item.readableIf)
    const group = groups.get(key) ?? { condition: item.readableIf, names: [] }
    group.names.push(item.as ?? item.scalar.name)
    groups.set(key, group)
  }
  return [...groups.values()].map(({ condition, names }) => [condition, names])
}

function toExpansionMembers(
  expansion: Expansion,
  representation: Representation,
  record: PrismaRecord,
): readonly JsonMember[] {
  const { navigation, as: name = navigation.name, form, plan } = expansion
  const toText = (related: PrismaRecord) => toRecordText(plan, representation, related)
  const count = () => {
    const text = String(countsOf(record)[navigation.name] ?? 0)
    return [
      name + representation.countSuffix,
      representation.numbersAsText ? JSON.stringify(text) : text,
    ] as const
  }
  const related = () => {
    const value = record[navigation.name] as readonly PrismaRecord[] | PrismaRecord | null // by the schema
    if (Array.isArray(value)) return [name, `[${value.map(toText).join(', ')}]`] as const
    return [name, value === null ? 'null' : toText(value as PrismaRecord)] as const
  }
  return [...(isCounted(expansion) ? [count()] : []), ...(form === 'count' ? [] : [related()])]
}

/** The JSON text of a field (OData JSON 4.01, 7.1). */
function toValueText(scalar: Scalar, record: PrismaRecord, { numbersAsText }: Representation): string {
  if (scalar.type === 'GeographyPoint') return toPointText(record)
  const value = record[scalar.name]
  if (value === null || value === undefined) return 'null'
  switch (scalar.type) {
    case 'Decimal':
    case 'Int64': {
      const text = scalar.type === 'Decimal' ? (value as DecimalValue).toFixed() : String(value)
      return numbersAsText ? JSON.stringify(text) : text
    }
    case 'DateTimeOffset':
      return JSON.stringify((value as Date).toISOString())
    case 'Date':
      return JSON.stringify((value as Date).toISOString().slice(0, 10))
    default:
      return JSON.stringify(value)
  }
}

/** As PostgreSQL prints `jsonb`. */
function toPointText({ Longitude, Latitude }: PrismaRecord): string {
  if (Longitude === null || Latitude === null) return 'null'
  const [longitude, latitude] = [Longitude, Latitude].map(value => (value as DecimalValue).toFixed())
  return `{"type": "Point", "coordinates": [${longitude}, ${latitude}]}`
}

/** Returns the cursor of a record: a JSON array of its order values in the text format of PostgreSQL. */
export const toCursorText = (orderBy: readonly OrderByTerm[], record: PrismaRecord): string =>
  JSON.stringify(orderBy.map(({ expr }) => toCursorValue(expr, record)))

function toCursorValue(expr: Expr, record: PrismaRecord): string | null {
  const counted = countedNavigationOf(expr)
  if (counted !== undefined) return String(countsOf(record)[counted] ?? 0)
  return expr.kind === 'column' ? toPostgresText(expr.scalar, record[expr.scalar.name]) : null
}

/** The numbers of related records, if toFindArgs requested them. */
const countsOf = (record: PrismaRecord) => record['_count'] as Readonly<Record<string, number>>

function toPostgresText({ type }: Scalar, value: unknown): string | null {
  if (value === null || value === undefined) return null
  switch (type) {
    case 'Decimal':
      return (value as DecimalValue).toFixed()
    case 'DateTimeOffset':
      return (value as Date)
        .toISOString()
        .replace('T', ' ')
        .replace(/\.?0*Z$/, '+00')
    case 'Date':
      return (value as Date).toISOString().slice(0, 10)
    default:
      return String(value)
  }
}
