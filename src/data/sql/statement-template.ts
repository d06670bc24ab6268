import { type PlaceholderValues, placeholderIndex } from '../../query/placeholder.js'
import type { PlanCacheMode, Statement } from './statement.js'

/** A statement that is made once for all requests that differ in what they give. */
export interface StatementTemplate extends Statement {
  readonly planCacheMode: PlanCacheMode
  /** The values that are given. */
  readonly slots: readonly ParameterSlot[]
}

interface ParameterSlot {
  readonly valueIndex: number
  readonly parameterIndex: number
}

export function toStatementTemplate(
  { text, values }: Statement,
  planCacheMode: PlanCacheMode,
): StatementTemplate {
  const slots = values.flatMap((value, valueIndex): readonly ParameterSlot[] => {
    const parameterIndex = placeholderIndex(value)
    return parameterIndex === undefined ? [] : [{ valueIndex, parameterIndex }]
  })
  return { text, values, planCacheMode, slots }
}

/** The statement with what a request gives. */
export function bindParameters(template: StatementTemplate, parameters: PlaceholderValues): Statement {
  if (template.slots.length === 0) return template
  const values = [...template.values]
  for (const { valueIndex, parameterIndex } of template.slots) {
    if (parameterIndex >= parameters.length) throw new Error('A statement lacks what is given')
    values[valueIndex] = parameters[parameterIndex]
  }
  return { text: template.text, values }
}
