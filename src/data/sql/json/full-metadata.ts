import sql, { raw, type Sql } from 'sql-template-tag'
import type { ExprType } from '../../../query/functions.js'
import { MAX_NAME_BYTES } from '../../../query/limits.js'
import { type Plan, rowSource, type SelectItem } from '../../../query/plan.js'
import type { FullMetadata } from '../../../query/representation.js'
import { toColumn } from '../columns.js'
import { type JsonExpression, jsonString, jsonStringWithoutEscapes } from './json-value.js'

// The members of `odata.metadata=full` (OData JSON 4.01, 4.6): the types and links of a record.

type NamedJson = readonly [name: string, value: JsonExpression]
type RecordSource = Pick<Plan, 'entity' | 'row'>

const textOf = (text: string) => jsonStringWithoutEscapes(sql`${text}::text`)

/** A grouped record has no fields of an entity and no URL. */
const isTransient = ({ entity }: RecordSource) => entity.fields.size === 0

/**
 * Renders the type and the URL of a record.
 *   `'#org.reso.metadata.Property'`, `'http://host/odata/' || record_url('Property', r0."ListingKey")`
 */
export function toTypeAndId(record: RecordSource, full: FullMetadata): readonly NamedJson[] {
  if (isTransient(record)) return [[full.id, jsonStringWithoutEscapes(raw('null::text'))]]
  return [
    [full.type, textOf(full.entityTypePrefix + record.entity.typeName)],
    [full.id, jsonString(toRecordUrl(record, full))],
  ]
}

/** Renders the URL by which a record is changed, if its entity can be written. */
export const toEditLink = (record: RecordSource, full: FullMetadata): readonly NamedJson[] =>
  record.entity.writable ? [[full.editLink, jsonString(toRecordUrl(record, full))]] : []

/** Renders the URLs of related records: `…Property('K')/Media/$ref` and `…Property('K')/Media`. */
export const toNavigationLinks = (
  { links, ...record }: RecordSource & Required<Pick<Plan, 'links'>>,
  full: FullMetadata,
): readonly NamedJson[] =>
  links.flatMap(({ name }): readonly NamedJson[] => [
    [name + full.associationLink, jsonString(toRecordUrl(record, full, `/${name}/$ref`))],
    [name + full.navigationLink, jsonString(toRecordUrl(record, full, `/${name}`))],
  ])

function toRecordUrl({ entity, row }: RecordSource, { root }: FullMetadata, rest = ''): Sql {
  const key = sql`${toColumn(entity.key, rowSource(row))}::text`
  const path =
    entity.key.type === 'String'
      ? sql`record_url(${entity.name}::text, ${key})`
      : sql`${`${entity.name}(`}::text || ${key} || ')'`
  return rest === '' ? sql`${root}::text || ${path}` : sql`${root}::text || ${path} || ${rest}::text`
}

/** Types that clients derive from the JSON value. */
const HEURISTIC_TYPES: ReadonlySet<ExprType> = new Set(['String', 'Boolean'])

/**
 * Renders the type of a value, unless clients derive it from the JSON value.
 *   `ListPrice` → `"ListPrice@odata.type"` with `'Decimal'`
 */
export function toTypeAnnotation(selected: SelectItem, full: FullMetadata): readonly NamedJson[] {
  const [name, type] =
    selected.kind === 'field'
      ? [selected.as ?? selected.scalar.name, fieldType(selected)]
      : [selected.name, selected.value.type]
  const annotation = name + full.type
  // PostgreSQL truncates longer column names, so a computed value with such a name has no annotation.
  return HEURISTIC_TYPES.has(type) || Buffer.byteLength(annotation) > MAX_NAME_BYTES
    ? []
    : [[annotation, textOf(full.primitiveTypePrefix + type)]]
}

const fieldType = ({ scalar }: SelectItem & { readonly kind: 'field' }): ExprType =>
  scalar.collection ? `Collection(${scalar.type})` : scalar.type
