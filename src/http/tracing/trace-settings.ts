type Variables = Readonly<Record<string, string | undefined>>

/** The standard variables of OpenTelemetry that its packages leave to the application. */
export interface TraceSettings {
  readonly protocol: 'http/protobuf' | 'http/json'
  readonly sampling: Sampling
}

/** The rate of OTEL_TRACES_SAMPLER. */
export interface Sampling {
  /** Part of the traces that is exported, from 0 to 1. */
  readonly ratio: number
  /** A request whose `traceparent` is not sampled is not exported. */
  readonly followsParent: boolean
}

/** Variables that cannot be used. No value is part of the text: a URL can contain a password. */
interface SettingsFault {
  readonly fault: string
}

const ENDPOINTS = ['OTEL_EXPORTER_OTLP_ENDPOINT', 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'] as const
const PROTOCOLS = ['http/protobuf', 'http/json'] as const
const PARENT_BASED = 'parentbased_'
const SAMPLERS = ['always_on', 'always_off', 'traceidratio']

/**
 * Reads the variables (OpenTelemetry, Environment Variable Specification). Empty ones count as unset. Returns
 * undefined if no traces are wanted: unless OTEL_TRACES_EXPORTER or an endpoint is set.
 */
export function readTraceSettings(env: Variables): TraceSettings | SettingsFault | undefined {
  const read = (name: string): string | undefined => env[name]?.trim() || undefined
  const endpoints = ENDPOINTS.filter(name => read(name) !== undefined)
  const exporter = read('OTEL_TRACES_EXPORTER') ?? (endpoints.length > 0 ? 'otlp' : 'none')
  if (read('OTEL_SDK_DISABLED')?.toLowerCase() === 'true' || exporter === 'none') return undefined
  if (exporter !== 'otlp') return { fault: 'OTEL_TRACES_EXPORTER must be otlp or none.' }
  const invalid = endpoints.find(name => !isHttpUrl(read(name) ?? ''))
  if (invalid) return { fault: `${invalid} must be an http or https URL.` }
  const protocolText =
    read('OTEL_EXPORTER_OTLP_TRACES_PROTOCOL') ?? read('OTEL_EXPORTER_OTLP_PROTOCOL') ?? PROTOCOLS[0]
  const protocol = PROTOCOLS.find(name => name === protocolText)
  if (!protocol) return { fault: `OTEL_EXPORTER_OTLP_PROTOCOL must be ${PROTOCOLS.join(' or ')}.` }
  const sampling = readSampling(read)
  return 'fault' in sampling ? sampling : { protocol, sampling }
}

const isHttpUrl = (text: string): boolean => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)

function readSampling(read: (name: string) => string | undefined): Sampling | SettingsFault {
  const text = read('OTEL_TRACES_SAMPLER') ?? `${PARENT_BASED}always_on`
  const followsParent = text.startsWith(PARENT_BASED)
  const name = followsParent ? text.slice(PARENT_BASED.length) : text
  if (!SAMPLERS.includes(name)) {
    const names = SAMPLERS.flatMap(known => [known, PARENT_BASED + known])
    return { fault: `OTEL_TRACES_SAMPLER must be one of ${names.join(', ')}.` }
  }
  if (name !== 'traceidratio') return { ratio: name === 'always_on' ? 1 : 0, followsParent }
  const ratio = Number(read('OTEL_TRACES_SAMPLER_ARG') ?? 1)
  return ratio >= 0 && ratio <= 1
    ? { ratio, followsParent }
    : { fault: 'OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1.' }
}
