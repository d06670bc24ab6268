import { ROOT_CONTEXT, trace } from '@opentelemetry/api'
import { SamplingDecision } from '@opentelemetry/sdk-trace-base'
import { expect, test } from 'vitest'
import { RequestSampler } from '../../../../src/http/tracing/request-sampler.js'
import { summarizeStatement } from '../../../../src/http/tracing/statement-summary.js'
import { readTraceSettings } from '../../../../src/http/tracing/trace-settings.js'

const ENDPOINT = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' }
const ALWAYS = { ratio: 1, followsParent: true }

test.each([
  [{}, undefined],
  [{ OTEL_SERVICE_NAME: 'x', OTEL_TRACES_SAMPLER: 'always_on' }, undefined],
  [ENDPOINT, { protocol: 'http/protobuf', sampling: ALWAYS }],
  [{ OTEL_TRACES_EXPORTER: 'otlp' }, { protocol: 'http/protobuf', sampling: ALWAYS }],
  [
    { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://x/v1/traces' },
    { protocol: 'http/protobuf', sampling: ALWAYS },
  ],
  [{ ...ENDPOINT, OTEL_SDK_DISABLED: 'true' }, undefined],
  [{ ...ENDPOINT, OTEL_TRACES_EXPORTER: 'none' }, undefined],
  [
    { ...ENDPOINT, OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' },
    { protocol: 'http/json', sampling: ALWAYS },
  ],
  [
    { ...ENDPOINT, OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.25' },
    { protocol: 'http/protobuf', sampling: { ratio: 0.25, followsParent: true } },
  ],
  [
    { ...ENDPOINT, OTEL_TRACES_SAMPLER: 'always_off' },
    { protocol: 'http/protobuf', sampling: { ratio: 0, followsParent: false } },
  ],
])('OBS-14 the standard variables %j', (env, settings) => {
  expect(readTraceSettings(env)).toEqual(settings)
})

test.each([
  [{ OTEL_TRACES_EXPORTER: 'zipkin' }, 'OTEL_TRACES_EXPORTER'],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'user:marked@' }, 'OTEL_EXPORTER_OTLP_ENDPOINT'],
  [{ ...ENDPOINT, OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }, 'OTEL_EXPORTER_OTLP_PROTOCOL'],
  [{ ...ENDPOINT, OTEL_TRACES_SAMPLER: 'sometimes' }, 'OTEL_TRACES_SAMPLER'],
  [
    { ...ENDPOINT, OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '2' },
    'OTEL_TRACES_SAMPLER_ARG',
  ],
])('OBS-14 %j is refused by the name of the variable, without its value', (env, name) => {
  const settings = readTraceSettings(env)
  expect(settings).toEqual({ fault: expect.stringContaining(name) })
  expect(JSON.stringify(settings)).not.toContain('marked')
})

/** Number of requests that are exported, of 1000 whose client has chosen id and flag. */
function countSampled(sampling: { ratio: number; followsParent: boolean }, traceFlags: number): number {
  const sampler = new RequestSampler(sampling)
  const parent = { traceId: `${'0'.repeat(31)}1`, spanId: '1'.repeat(16), traceFlags, isRemote: true }
  const context = trace.setSpanContext(ROOT_CONTEXT, parent)
  const decisions = Array.from({ length: 1000 }, () => sampler.shouldSample(context).decision)
  return decisions.filter(decision => decision === SamplingDecision.RECORD_AND_SAMPLED).length
}

test('OBS-14 a client cannot raise the rate by its flag or its trace id', () => {
  for (const followsParent of [true, false]) {
    expect(countSampled({ ratio: 0, followsParent }, 1)).toBe(0)
    expect(countSampled({ ratio: 0.1, followsParent }, 1)).toBeLessThan(300)
    expect(countSampled({ ratio: 1, followsParent }, 1)).toBe(1000)
  }
  expect(countSampled({ ratio: 1, followsParent: true }, 0)).toBe(0)
  expect(countSampled({ ratio: 1, followsParent: false }, 0)).toBe(1000)
})

test.each([
  [`select x from "Property" r0 where r0."City" = 'from "Secret"'`, 'SELECT Property'],
  ['select 1 from (select * from "Property" join "Media" on true) page', 'SELECT Property Media'],
  ['with old as (select 1 from "Member") update "public"."Property" set x = $1', 'UPDATE Member Property'],
  ['insert into "Property" ("ListingKey") values ($1)', 'INSERT Property'],
  ['  begin', 'BEGIN'],
  ['', ''],
])('the summary of %s', (text, summary) => {
  expect(summarizeStatement(text)).toBe(summary)
})
