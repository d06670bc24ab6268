import type { IncomingHttpHeaders } from 'node:http'
import type { RequestBody } from '../protocol/request.js'
import type { ODataResponse } from '../protocol/response.js'

/** A request of a batch, as it was written. */
export interface BatchRequest extends RequestBody {
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
export interface BatchStep {
  readonly atomic: boolean
  /** Name of the group, in a JSON batch. */
  readonly atomicityGroup?: string
  readonly requests: readonly BatchRequest[]
}

/** What became of a step. */
export interface BatchStepResult {
  readonly step: BatchStep
  /** One for each request. */
  readonly responses: readonly ODataResponse[]
  /** The request at fault; absent if the step succeeded. */
  readonly failedIndex?: number
  /** It was not executed, since another one had failed. */
  readonly skipped?: boolean
}

/** How a batch is written: one way to read, one to answer (Part 1, 11.7). */
export interface BatchFormat {
  readonly contentType: string
  /** The text before the first outcome, between two, and after the last one. */
  readonly delimiters: readonly [before: string, between: string, after: string]
  /** Empty for an outcome that is left out. */
  renderStepResult(outcome: BatchStepResult): string
}

/** A batch that was read, and how it wants to be answered. */
export interface ParsedBatch {
  readonly steps: readonly BatchStep[]
  readonly format: BatchFormat
}
