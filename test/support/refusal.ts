import type { Answer } from './app.js'
import { bodyOf, type Row } from './assertions.js'

/** What a refusal says: `details` as code and target. */
export interface Refusal {
  readonly status: number
  readonly code: string
  readonly target: unknown
  readonly details: readonly string[]
}

export function refusalOf(answer: Answer): Refusal {
  const { code, target, details } = bodyOf(answer)['error'] as Row & { readonly details: readonly Row[] } // an error body, checked when it came
  return {
    status: answer.status,
    code: String(code),
    target,
    details: details.map(detail => `${detail['code']} ${detail['target']}`),
  }
}
