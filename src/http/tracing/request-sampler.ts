import { type Context, TraceFlags, trace } from '@opentelemetry/api'
import { type Sampler, SamplingDecision, type SamplingResult } from '@opentelemetry/sdk-trace-base'
import type { Sampling } from './trace-settings.js'

/**
 * Decides which traces are exported. Samplers of OpenTelemetry leave the decision to the `traceparent` of the
 * client: its flag, or its id. Here a client can only lower the rate. The spans within a request follow its span.
 */
export class RequestSampler implements Sampler {
  constructor(private readonly sampling: Sampling) {}

  shouldSample(context: Context): SamplingResult {
    const parent = trace.getSpanContext(context)
    const isParentSampled = parent !== undefined && (parent.traceFlags & TraceFlags.SAMPLED) !== 0
    const isSampled = parent && !parent.isRemote ? isParentSampled : this.#decide(!parent || isParentSampled)
    return { decision: isSampled ? SamplingDecision.RECORD_AND_SAMPLED : SamplingDecision.NOT_RECORD }
  }

  toString(): string {
    return `RequestSampler{${this.sampling.ratio}}`
  }

  #decide(isAllowed: boolean): boolean {
    const { ratio, followsParent } = this.sampling
    return (isAllowed || !followsParent) && Math.random() < ratio
  }
}
