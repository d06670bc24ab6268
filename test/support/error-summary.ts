import type { TestResponse } from './app.js'
import { bodyOf, type Row } from './assertions.js'

/** Summary of a refusal: `details` as code and target. */
export interface ErrorSummary {
  readonly status: number
  readonly code: string
  readonly target: unknown
  readonly details: readonly string[]
}

export function errorSummaryOf(answer: TestResponse): ErrorSummary {
  const { code, target, details } = bodyOf(answer)['error'] as Row & { readonly details: readonly Row[] } // an error body, checked when it came
  return {
    status: answer.status,
    code: String(code),
    target,
    details: details.map(detail => `${detail['code']} ${detail['target']}`),
  }
}
