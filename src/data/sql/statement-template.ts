import type { ParameterValues } from '../../query/parameter.js'
import { ParameterRef } from '../../query/plan.js'
import type { PlanCacheMode, Statement } from './statement.js'

/** A statement with parameters, shared by requests that differ only in their values. */
export interface StatementTemplate extends Statement {
  readonly planCacheMode: PlanCacheMode
  /** Positions of the parameters. */
  readonly slots: readonly ParameterSlot[]
}

interface ParameterSlot {
  readonly valueIndex: number
  readonly parameterIndex: number
}

/** Finds the parameters of a statement. */
export function toStatementTemplate(
  { text, values }: Statement,
  planCacheMode: PlanCacheMode,
): StatementTemplate {
  const slots = values.flatMap((value, valueIndex): readonly ParameterSlot[] =>
    value instanceof ParameterRef ? [{ valueIndex, parameterIndex: value.index }] : [],
  )
  return { text, values, planCacheMode, slots }
}

/**
 * Returns the statement with the values of a request.
 *   values `['Vail', new ParameterRef(0)]` with `['L1']` → `['Vail', 'L1']`
 */
export function bindParameters(template: StatementTemplate, parameters: ParameterValues): Statement {
  if (template.slots.length === 0) return template
  const values = [...template.values]
  for (const { valueIndex, parameterIndex } of template.slots) {
    if (parameterIndex >= parameters.length)
      throw new Error(`A statement has no value for parameter ${parameterIndex}`)
    values[valueIndex] = parameters[parameterIndex]
  }
  return { text: template.text, values }
}
