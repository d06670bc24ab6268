import type { TestApp, TestResponse } from './app.js'
import { bodyOf, checkExpectation, type Expectation } from './assertions.js'
import { readCaseFile, toExpectationContext } from './cases.js'

interface ScenarioStep {
  readonly method: string
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
  readonly expect: Expectation
  /**
   * Values to save for later steps: members of the body, or `header:name`. With `?` at the end they may be
   * missing.
   */
  readonly save?: Readonly<Record<string, string>>
  /** The step is skipped unless this value was saved. */
  readonly ifSaved?: string
}

/** A sequence of requests. `{name}` is replaced by a saved value. */
export interface Scenario {
  readonly id: string
  readonly why: string
  readonly steps: readonly ScenarioStep[]
}

export const readScenarios = (): readonly Scenario[] =>
  JSON.parse(readCaseFile('scenarios.json')) as Scenario[] // our own file

export async function runScenario(app: TestApp, { steps }: Scenario): Promise<void> {
  const saved = new Map<string, string>()
  for (const step of steps)
    if (step.ifSaved === undefined || saved.has(step.ifSaved))
      await runStep(app, substituteVariables(step, saved), saved)
}

/**
 * The step with its placeholders replaced. Values are put into the texts of the step, so they are written as
 * parts of JSON texts.
 */
const substituteVariables = (step: ScenarioStep, saved: ReadonlyMap<string, string>): ScenarioStep =>
  JSON.parse(
    JSON.stringify(step).replace(/\{(\w+)\}/g, (all, name: string) =>
      saved.has(name) ? JSON.stringify(saved.get(name)).slice(1, -1) : all,
    ),
  ) as ScenarioStep // still a step

async function runStep(
  app: TestApp,
  { url, expect: wanted, save = {}, ...parts }: ScenarioStep,
  saved: Map<string, string>,
): Promise<void> {
  const answer = await app.send(url, parts)
  await checkExpectation(wanted, toExpectationContext(app, url, parts, answer))
  for (const [name, from] of Object.entries(save)) saveVariable(name, from, answer, saved)
}

function saveVariable(name: string, from: string, answer: TestResponse, saved: Map<string, string>): void {
  const [, header, member] = /^(?:header:([\w-]+)|(.+?))\??$/.exec(from) ?? []
  const value = header ? answer.headers[header] : bodyOf(answer)[member ?? '']
  if (value !== undefined) saved.set(name, String(value))
  else if (!from.endsWith('?')) throw new Error(`The answer has no ${from} to keep`)
}
