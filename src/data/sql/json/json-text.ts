import sql, { join, raw, type Sql } from 'sql-template-tag'
import type { Plan } from '../../../query/plan.js'
import type { Notation } from '../../../query/representation.js'
import { toSql } from '../expression.js'
import { nest, toJsonMember, toObject } from './json-object.js'
import { type JsonValue, ofAny, ofPlainText, ofText } from './json-value.js'
import { ofShape, toMembers, toNotes, type ValueMember } from './record-members.js'

// The JSON of records joined from its parts. The functions by which PostgreSQL makes JSON ask the catalog for
// the type of every member of every record, and look for what is to be escaped in each text by itself: a
// third of all that a page cost. So texts are taken as they are, and the page says whether it was right to.

/** How texts are written: as they are between quotation marks, or with all that JSON escapes. */
export type Texts = 'as they are' | 'escaped'

/** JSON text, and the texts in it in which there must be nothing to escape. */
export interface JsonText {
  readonly json: Sql
  readonly texts: readonly Sql[]
}

/** The JSON text of one record of a plan. The plan's row must be in scope. */
export const toRecordText = (plan: Plan, notation: Notation, texts: Texts): JsonText =>
  RECORD_TEXT[texts](plan, notation)

type NamedValue = JsonValue & Pick<ValueMember, 'name'>

const recordText = (texts: Texts) =>
  ofShape((shape, notation): JsonText => {
    const members = toMembers(shape, notation).map(
      (m): NamedValue =>
        m.kind === 'value' ? m : { name: m.name, ...ofAny(toJsonMember(m, notation).value) },
    )
    const values = nest(members, (name, inner) => ({ name, ...ofAny(toObject(inner)) }))
    const parts = values.flatMap((value, i) => [
      literal(`${i === 0 ? '' : ','}${JSON.stringify(value.name)}:`),
      orNull(toJson(value, texts)),
    ])
    return {
      json: concat([literal('{'), ...parts, ...toNotes(shape, notation), literal('}')]),
      texts: textsOf(values, texts),
    }
  })

const RECORD_TEXT = { 'as they are': recordText('as they are'), escaped: recordText('escaped') } as const

/** The place of a record in the order of a plan, as a JSON array of texts. */
export function toCursorText({ orderBy }: Pick<Plan, 'orderBy'>, texts: Texts): JsonText {
  const values = orderBy.map(({ expr }) => {
    const value = sql`(${toSql(expr)})::text`
    return expr.type === 'String' ? ofText(value) : ofPlainText(value)
  })
  const parts = values.flatMap((value, i) => [literal(i === 0 ? '[' : ','), orNull(toJson(value, texts))])
  return { json: concat([...parts, literal(']')]), texts: textsOf(values, texts) }
}

/**
 * Whether nothing is to be escaped in any of the texts of some rows: as JSON they are longer by no more than
 * their quotation marks.
 */
export function toIsExact(column: Sql): Sql {
  const all = sql`string_agg(${column}, '')`
  return sql`octet_length(to_json(${all})::text) = octet_length(${all}) + 2`
}

const toJson = ({ value, json, text }: JsonValue, texts: Texts): Sql =>
  text && texts === 'escaped' ? sql`to_json(${value})::text` : json
const textsOf = (values: readonly JsonValue[], texts: Texts): readonly Sql[] =>
  texts === 'escaped' ? [] : values.flatMap(({ text }) => text ?? [])
const orNull = (json: Sql) => sql`coalesce(${json}, 'null')`
const literal = (text: string) => raw(`'${text.replaceAll("'", "''")}'`)

/** PostgreSQL takes 100 arguments of a function. */
const MOST_ARGUMENTS = 90

/** Texts in one, without those that are null. */
export const concat = (texts: readonly Sql[]): Sql =>
  texts.length === 0
    ? raw("''")
    : texts.length <= MOST_ARGUMENTS
      ? sql`concat(${join(texts)})`
      : concat([concat(texts.slice(0, MOST_ARGUMENTS)), ...texts.slice(MOST_ARGUMENTS)])
