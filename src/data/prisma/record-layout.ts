import type { Scalar } from '../../model/model.js'
import type { Expansion, Expr, Plan, SelectItem } from '../../query/plan.js'
import type { Representation } from '../../query/representation.js'
import { toStoredDocumentPlan } from '../sql/json/stored-document.js'
import { notExpressible } from './not-expressible.js'

type FieldItem = SelectItem & { readonly kind: 'field' }

/** The members of a record's JSON in their order, which is that of the SQL engine. */
export interface RecordLayout {
  readonly plan: Plan
  /** Fields before the expansions. */
  readonly fields: readonly FieldItem[]
  readonly expansions: readonly Expansion[]
  /** Fields after the expansions: those of the stored document. */
  readonly storedFields: readonly FieldItem[]
}

/** The layout of a plan's records, or undefined if computed values are selected. */
export function toRecordLayout(plan: Plan, representation: Representation): RecordLayout | undefined {
  const select = (toStoredDocumentPlan(plan, representation)?.plan ?? plan).select
  const fields = onlyFields(select)
  const all = onlyFields(plan.select)
  return (
    fields &&
    all && { plan, fields, expansions: plan.expand, storedFields: all.filter(item => !fields.includes(item)) }
  )
}

function onlyFields(select: readonly SelectItem[]): readonly FieldItem[] | undefined {
  const fields = select.filter(item => item.kind === 'field')
  return fields.length === select.length ? fields : undefined
}

/**
 * Returns the names of the fields that the JSON of a record depends on: its members, the key, and the fields
 * of read permissions.
 */
export function recordFieldsOf({ plan: { entity }, fields, storedFields }: RecordLayout): readonly string[] {
  const items = [...fields, ...storedFields]
  return [
    entity.key.name,
    ...(entity.hidden.has('RecordVersion') ? ['RecordVersion'] : []),
    ...items.flatMap(({ scalar }) => storageFieldsOf(scalar)),
    ...items.flatMap(({ readableIf }) => (readableIf ? columnsOf(readableIf) : [])),
  ]
}

/** A point is derived from its two exact numbers, since JSON numbers are binary in JavaScript. */
const storageFieldsOf = ({ name, type }: Scalar): readonly string[] =>
  type === 'GeographyPoint' ? ['Longitude', 'Latitude'] : [name]

/** Returns the columns of the record itself that a condition uses. */
function columnsOf(expr: Expr): readonly string[] {
  if (expr.kind === 'inFeed') return notExpressible('a feed')
  if (expr.kind === 'call') return expr.args.flatMap(columnsOf)
  if (expr.kind === 'list') return expr.items.flatMap(columnsOf)
  return expr.kind === 'column' && expr.source.kind === 'row' ? [expr.scalar.name] : []
}
