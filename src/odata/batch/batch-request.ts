import type { IncomingHttpHeaders } from 'node:http'
import type { RequestBody } from '../protocol/request.js'
import type { ODataResponse } from '../protocol/response.js'

/** A request of a batch, as it was sent. */
export interface BatchRequest extends RequestBody {
  /** Name of the request for references. Optional in a multipart batch. */
  readonly id?: string
  /** In upper case. */
  readonly method: string
  /**
   * Absolute, relative to the host, relative to the service root, or beginning with a reference: `$1/Media`.
   */
  readonly url: string
  readonly headers: IncomingHttpHeaders
  /** Earlier requests or groups that must have succeeded. */
  readonly dependsOn: readonly string[]
}

/** A single request, or a group of writes that succeed or fail together (a change set). */
export interface BatchStep {
  readonly atomic: boolean
  /** Name of the group in a JSON batch. */
  readonly atomicityGroup?: string
  readonly requests: readonly BatchRequest[]
}

/** The result of a step. */
export interface BatchStepResult {
  readonly step: BatchStep
  /** One response for each request. */
  readonly responses: readonly ODataResponse[]
  /** Index of the request that failed. Absent if the step succeeded. */
  readonly failedIndex?: number
  /** True if the step was not executed because an earlier one had failed. */
  readonly skipped?: boolean
}

/** Renders the response of a batch in one of the two formats (Part 1, 11.7). */
export interface BatchFormat {
  readonly contentType: string
  /** Text before the first result, between two results, and after the last one. */
  readonly delimiters: readonly [before: string, between: string, after: string]
  /** Renders the result of a step. Returns an empty string for a result that is omitted. */
  renderStepResult(outcome: BatchStepResult): string
}

/** A parsed batch, and the format of its response. */
export interface ParsedBatch {
  readonly steps: readonly BatchStep[]
  readonly format: BatchFormat
}
