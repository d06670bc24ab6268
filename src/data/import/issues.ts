import { WARNING_KINDS } from '../../errors/import-faults.js'
import type { Phrase } from '../../errors/phrase.js'
import type { FilePosition } from './json-scanner.js'

export type WarningKind = keyof typeof WARNING_KINDS

/** An issue of a record in a file. */
export interface RecordIssue {
  readonly kind: 'fault' | WarningKind
  /** Label of the record: `Property[3] 'P4' Media[0] 'X'`. */
  readonly label: string
  readonly field?: string
  readonly reason: Phrase
}

/** A kind of warning with its number of cases and the first case. */
export interface WarningSummary {
  readonly text: string
  readonly cases: number
  readonly first: string
}

function renderIssue({ label, field, reason }: RecordIssue, position: FilePosition | undefined): string {
  const place = position ? ` (line ${position.line}, byte ${position.byte})` : ''
  return `${label}${field === undefined ? '' : ` ${field}`}: ${reason}${place}`
}

/** Collects the issues of a file: descriptions of the first faults, and counts of all faults and warnings. */
export class IssueReport {
  readonly faults: string[] = []
  faultCount = 0
  readonly #warnings = new Map<WarningKind, { cases: number; readonly first: string }>()

  /** @param maxFaults maximum number of faults that are described */
  constructor(
    private readonly isStrict: boolean,
    private readonly maxFaults: number,
  ) {}

  /** Adds an issue. Returns true if it is a fault. */
  add(issue: RecordIssue, position?: FilePosition): boolean {
    if (issue.kind !== 'fault' && !this.isStrict) {
      const known = this.#warnings.get(issue.kind)
      if (known) known.cases++
      else this.#warnings.set(issue.kind, { cases: 1, first: renderIssue(issue, position) })
      return false
    }
    if (this.faultCount++ < this.maxFaults) this.faults.push(renderIssue(issue, position))
    return true
  }

  get warnings(): readonly WarningSummary[] {
    return [...this.#warnings].map(([kind, summary]) => ({ ...summary, text: WARNING_KINDS[kind] }))
  }
}
