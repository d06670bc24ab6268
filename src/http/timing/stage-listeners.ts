import type { IncomingMessage } from 'node:http'
import type {
  MeasuredStatement,
  RequestDescription,
  RequestStage,
  StageListener,
  StepListener,
} from '../../domain/request-scope.js'

/** Creates the listener of one operation on the connection of a request. It may add to the description. */
type OperationListenerFactory = (description: RequestDescription) => StageListener

const LISTENER = Symbol('stage listener')
const CREATE_LISTENER = Symbol('operation listener')
interface ObservedRequest {
  [LISTENER]?: StageListener
  [CREATE_LISTENER]?: OperationListenerFactory
}

/** Passes the stages of a request on to two listeners. */
class BothListeners implements StageListener {
  constructor(
    private readonly first: StageListener,
    private readonly second: StageListener,
  ) {}

  onStage(stage: RequestStage, startedAt: number, endedAt: number, statement?: MeasuredStatement): void {
    this.first.onStage(stage, startedAt, endedAt, statement)
    this.second.onStage(stage, startedAt, endedAt, statement)
  }

  startStep(): StepListener | undefined {
    return this.first.startStep?.() ?? this.second.startStep?.()
  }

  onOperation(type: string, name: string | undefined): void {
    this.first.onOperation?.(type, name)
    this.second.onOperation?.(type, name)
  }
}

/** Adds a listener of the stages of a request, before its scope opens. */
export function addStageListener(req: IncomingMessage & ObservedRequest, listener: StageListener): void {
  req[LISTENER] = req[LISTENER] ? new BothListeners(req[LISTENER], listener) : listener
}

/** Returns the listener of the stages of a request. Undefined: they are not measured. */
export const stageListenerOf = (req: IncomingMessage & ObservedRequest): StageListener | undefined =>
  req[LISTENER]

/** Sets how the stages of the operations on a connection are observed. */
export function setOperationListenerFactory(
  req: IncomingMessage & ObservedRequest,
  create: OperationListenerFactory,
): void {
  req[CREATE_LISTENER] = create
}

/** Creates the listener of the stages of one operation on the connection of a request. */
export const createOperationListener = (
  req: IncomingMessage & ObservedRequest,
  description: RequestDescription,
): StageListener | undefined => req[CREATE_LISTENER]?.(description)
