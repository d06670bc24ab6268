import {
  type Attributes,
  type Context,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api'
import type { MeasuredStatement, RequestStage, StepListener } from '../../domain/request-scope.js'
import { summarizeStatement } from './statement-summary.js'

/** Names of the spans of stages. A statement is named by its summary. */
const STAGE_NAMES: Readonly<Record<Exclude<RequestStage, 'statement'>, string>> = {
  parse: 'parse',
  bind: 'plan',
  connection: 'wait for a connection',
  lock: 'wait for a lock',
}
/** Names of the spans of a batch. One request is named by its operation. */
const CHANGE_SET = 'change set'
const UNKNOWN_OPERATION = 'batch request'
/** Maximum number of stages of a span. Exports and subscriptions can have any number of statements. */
const MAX_STAGES = 1000

/** The dependencies of all spans of a process. */
export interface SpanDependencies {
  readonly tracer: Tracer
  readonly databaseName: string | undefined
}

/** The start of a span. */
export interface SpanStart {
  readonly name: string
  readonly parent: Context
  readonly attributes: Attributes
  /** SERVER by default. */
  readonly kind?: SpanKind
}

/** The span of a request or operation. The stages of the request are its children. */
export class RequestSpan implements StepListener {
  /** Added to `performance.now()`. It is read for each span, since the two clocks drift apart. */
  readonly #clockOffset = Date.now() - performance.now()
  readonly #dependencies: SpanDependencies
  readonly #span: Span
  readonly #context: Context
  #stageCount = 0

  constructor(
    dependencies: SpanDependencies,
    { name, parent, attributes, kind = SpanKind.SERVER }: SpanStart,
  ) {
    this.#dependencies = dependencies
    const startTime = this.#clockOffset + performance.now()
    this.#span = dependencies.tracer.startSpan(name, { kind, startTime, attributes }, parent)
    this.#context = trace.setSpan(parent, this.#span)
  }

  get traceId(): string {
    return this.#span.spanContext().traceId
  }

  /** True if the span will be exported. */
  get isRecording(): boolean {
    return this.#span.isRecording()
  }

  onStage(stage: RequestStage, startedAt: number, endedAt: number, statement?: MeasuredStatement): void {
    this.#stageCount += 1
    if (this.#stageCount > MAX_STAGES) return
    if (stage === 'statement') {
      if (statement) this.#addStatement(statement, startedAt, endedAt)
    } else this.#startChild(STAGE_NAMES[stage], SpanKind.INTERNAL, startedAt).end(this.#clockOffset + endedAt)
  }

  startStep(): StepListener | undefined {
    this.#stageCount += 1
    if (this.#stageCount > MAX_STAGES) return undefined
    const start = { name: CHANGE_SET, parent: this.#context, attributes: {}, kind: SpanKind.INTERNAL }
    return new RequestSpan(this.#dependencies, start)
  }

  finish(requests: Parameters<StepListener['finish']>[0]): void {
    const [first, ...others] = requests
    if (others.length === 0) this.#span.updateName(first?.operation ?? UNKNOWN_OPERATION)
    const status = Math.max(...requests.map(request => request.status))
    const attributes = { 'http.response.status_code': status, 'listing.requests': requests.length }
    this.end(attributes, status >= 500 ? String(status) : undefined)
  }

  onOperation(type: string, name: string | undefined): void {
    this.#span.setAttribute('graphql.operation.type', type)
    if (name !== undefined) this.#span.setAttribute('graphql.operation.name', name)
  }

  onEnd(errorCode: string | undefined): void {
    this.end({}, errorCode)
  }

  /** @param errorType the class of a failure of the service */
  end(attributes: Attributes, errorType: string | undefined): void {
    this.#span.setAttributes(attributes)
    if (this.#stageCount > MAX_STAGES)
      this.#span.setAttribute('listing.dropped_stages', this.#stageCount - MAX_STAGES)
    if (errorType !== undefined) setFailure(this.#span, errorType)
    this.#span.end(this.#clockOffset + performance.now())
  }

  #addStatement({ text, errorCode }: MeasuredStatement, startedAt: number, endedAt: number): void {
    const summary = summarizeStatement(text)
    const { databaseName } = this.#dependencies
    const span = this.#startChild(summary, SpanKind.CLIENT, startedAt, {
      'db.system.name': 'postgresql',
      'db.query.summary': summary,
      ...(databaseName !== undefined && { 'db.namespace': databaseName }),
      ...(errorCode !== undefined && { 'db.response.status_code': errorCode }),
    })
    if (errorCode !== undefined) setFailure(span, errorCode)
    span.end(this.#clockOffset + endedAt)
  }

  #startChild(name: string, kind: SpanKind, startedAt: number, attributes: Attributes = {}): Span {
    const startTime = this.#clockOffset + startedAt
    return this.#dependencies.tracer.startSpan(name, { kind, startTime, attributes }, this.#context)
  }
}

/** Marks a span as failed (OpenTelemetry, Recording errors). */
export function setFailure(span: Span, errorType: string): void {
  span.setAttribute('error.type', errorType)
  span.setStatus({ code: SpanStatusCode.ERROR })
}
