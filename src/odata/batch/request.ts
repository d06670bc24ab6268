import type { IncomingHttpHeaders } from 'node:http'
import type { Body } from '../protocol/request.js'
import type { Answer } from '../protocol/response.js'

/** A request of a batch, as it was written. */
export interface BatchRequest extends Body {
  /** By which later requests refer to it. A multipart batch may leave it out. */
  readonly id?: string
  /** In upper case. */
  readonly method: string
  /** Absolute, below the host, below the service root, or beginning with a reference: `$1/Media`. */
  readonly url: string
  readonly headers: IncomingHttpHeaders
  /** Requests or groups before it that must not have failed. */
  readonly dependsOn: readonly string[]
}

/**
 * What is executed at once: a single request, or a group of writes that all succeed or all fail (a change
 * set).
 */
export interface Step {
  readonly atomic: boolean
  /** Name of the group, in a JSON batch. */
  readonly group?: string
  readonly requests: readonly BatchRequest[]
}

/** What became of a step. */
export interface Outcome {
  readonly step: Step
  /** One for each request. */
  readonly answers: readonly Answer[]
  /** The request at fault; absent if the step succeeded. */
  readonly failed?: number
  /** It was not executed, since another one had failed. */
  readonly skipped?: boolean
}

/** How a batch is written: one way to read, one to answer (Part 1, 11.7). */
export interface BatchFormat {
  readonly contentType: string
  /** The text before the first outcome, between two, and after the last one. */
  readonly frame: readonly [before: string, between: string, after: string]
  /** Empty for an outcome that is left out. */
  renderOutcome(outcome: Outcome): string
}

/** A batch that was read, and how it wants to be answered. */
export interface Batch {
  readonly steps: readonly Step[]
  readonly format: BatchFormat
}
