import sql, { join, raw, type Sql } from 'sql-template-tag'
import type { Plan } from '../../../query/plan.js'
import type { Representation } from '../../../query/representation.js'
import { toDecimalText } from '../casts.js'
import { nestByPath, rowToJson, toObjectMember } from './json-object.js'
import { type JsonExpression, jsonByToJson, jsonString, jsonStringWithoutEscapes } from './json-value.js'
import {
  memoizeByShape,
  toRecordMembers,
  toRestrictionAnnotations,
  type ValueMember,
} from './record-members.js'

// The JSON of records joined from its parts. The functions by which PostgreSQL makes JSON ask the catalog for
// the type of every member of every record, and look for what is to be escaped in each text by itself: a
// third of all that a page cost. So texts are taken as they are, and the page says whether it was right to.

/** How texts are written: as they are between quotation marks, or with all that JSON escapes. */
export type StringEscaping = 'verbatim' | 'escaped'

/** JSON text, and the texts in it in which there must be nothing to escape. */
export interface JsonTextExpression {
  readonly json: Sql
  readonly escaping: readonly Sql[]
}

/** The JSON text of one record of a plan. The plan's row must be in scope. */
export const toRecordText = (
  plan: Plan,
  representation: Representation,
  escaping: StringEscaping,
): JsonTextExpression => RECORD_TEXT_BY_ESCAPING[escaping](plan, representation)

type NamedJsonExpression = JsonExpression & Pick<ValueMember, 'name'>

const createToRecordText = (escaping: StringEscaping) =>
  memoizeByShape(function toRecordTextOfShape(shape, representation): JsonTextExpression {
    const members = toRecordMembers(shape, representation).map(
      (m): NamedJsonExpression =>
        m.kind === 'value' ? m : { name: m.name, ...jsonByToJson(toObjectMember(m, representation).value) },
    )
    const values = nestByPath(members, (name, inner) => ({ name, ...jsonByToJson(rowToJson(inner)) }))
    const parts = values.flatMap((value, i) => [
      quoteLiteral(`${i === 0 ? '' : ','}${JSON.stringify(value.name)}:`),
      orJsonNull(renderJsonText(value, escaping)),
    ])
    return {
      json: toConcat([
        quoteLiteral('{'),
        ...parts,
        ...toRestrictionAnnotations(shape, representation),
        quoteLiteral('}'),
      ]),
      escaping: verbatimTextsOf(values, escaping),
    }
  })

const RECORD_TEXT_BY_ESCAPING = {
  verbatim: createToRecordText('verbatim'),
  escaped: createToRecordText('escaped'),
} as const

/**
 * The place of a record in the order of a plan, as a JSON array of texts.
 * @param orderValues of the record, one for each term of the order.
 */
export function toCursorText(
  { orderBy }: Pick<Plan, 'orderBy'>,
  orderValues: readonly Sql[],
  escaping: StringEscaping,
): JsonTextExpression {
  const values = orderValues.map((orderValue, i) => {
    const type = orderBy[i]?.expr.type
    // Without trailing zeros, so that a position has one text whatever engine reads it.
    const value = type === 'Decimal' ? toDecimalText(orderValue) : sql`(${orderValue})::text`
    return type === 'String' ? jsonString(value) : jsonStringWithoutEscapes(value)
  })
  const parts = values.flatMap((value, i) => [
    quoteLiteral(i === 0 ? '[' : ','),
    orJsonNull(renderJsonText(value, escaping)),
  ])
  return { json: toConcat([...parts, quoteLiteral(']')]), escaping: verbatimTextsOf(values, escaping) }
}

/**
 * Whether nothing is to be escaped in any of the texts of some rows: as JSON they are longer by no more than
 * their quotation marks.
 */
export function toNeedsNoEscaping(column: Sql): Sql {
  const all = sql`string_agg(${column}, '')`
  return sql`octet_length(to_json(${all})::text) = octet_length(${all}) + 2`
}

const renderJsonText = ({ value, json, verbatimText }: JsonExpression, escaping: StringEscaping): Sql =>
  verbatimText && escaping === 'escaped' ? sql`to_json(${value})::text` : json
const verbatimTextsOf = (values: readonly JsonExpression[], escaping: StringEscaping): readonly Sql[] =>
  escaping === 'escaped' ? [] : values.flatMap(({ verbatimText }) => verbatimText ?? [])
const orJsonNull = (json: Sql) => sql`coalesce(${json}, 'null')`
const quoteLiteral = (text: string) => raw(`'${text.replaceAll("'", "''")}'`)

/** PostgreSQL takes 100 arguments of a function. */
const MAX_FUNCTION_ARGUMENTS = 90

/** Texts in one, without those that are null. */
export const toConcat = (texts: readonly Sql[]): Sql =>
  texts.length === 0
    ? raw("''")
    : texts.length <= MAX_FUNCTION_ARGUMENTS
      ? sql`concat(${join(texts)})`
      : toConcat([toConcat(texts.slice(0, MAX_FUNCTION_ARGUMENTS)), ...texts.slice(MAX_FUNCTION_ARGUMENTS)])
