import { expect, test } from 'vitest'
import { toFailure } from '../../../src/errors/catalog.js'
import { EXPECTED_SYNTAX, HINTS } from '../../../src/errors/phrases.js'
import type { Problem } from '../../../src/errors/problem.js'

const AT = { source: '$filter', offset: 4 }

test('words of a message that are not in a table of the catalog do not compile', () => {
  // @ts-expect-error A string is not a phrase.
  const problem: Problem = { kind: 'NotImplemented', feature: 'some feature', at: AT }
  expect(toFailure([problem]).code).toBe('2101')
})

test.each<[name: string, problem: Problem, message: string]>([
  [
    'a hint is a sentence after the position',
    {
      kind: 'Syntax',
      expected: EXPECTED_SYNTAX.operatorOrEnd,
      found: "'='",
      hint: HINTS.odataOperator('eq'),
      at: AT,
    },
    "Expected an operator or the end but found '=' (at position 5 of $filter). The OData syntax is 'eq'.",
  ],
  [
    'an alias that refers to itself',
    { kind: 'UndefinedAlias', alias: 'c', at: AT },
    "The value of the parameter alias '@c' refers to itself (at position 5 of $filter).",
  ],
])('%s', (_, problem, message) => expect(toFailure([problem]).message).toBe(message))

test.each<[name: string, problem: Problem, message: string]>([
  [
    'a refused change of status names the possible ones',
    { kind: 'TransitionNotAllowed', from: 'Pending', to: 'Hold', allowed: ['Active', 'Sold'] },
    "StandardStatus cannot change from 'Pending' to 'Hold'. It can change to 'Active', 'Sold'.",
  ],
  [
    'a final status has no possible ones',
    { kind: 'TransitionNotAllowed', from: 'Sold', to: 'Active', allowed: [] },
    "StandardStatus cannot change from 'Sold' to 'Active'. It is final.",
  ],
  [
    'a new record has one status',
    { kind: 'TransitionNotAllowed', to: 'Active', allowed: ['Incomplete'] },
    "A new record must have the StandardStatus 'Incomplete', or none, not 'Active'.",
  ],
])('%s', (_, problem, message) => expect(toFailure([problem]).details[0]?.message).toBe(message))
