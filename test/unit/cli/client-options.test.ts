import { describe, expect, test } from 'vitest'
import { readClientColumns } from '../../../src/cli/client-options.js'

const LIMIT_OPTIONS = [
  ['requests-per-minute', 'RequestsPerMinute'],
  ['requests-per-day', 'RequestsPerDay'],
  ['rows-per-day', 'RowsPerDay'],
  ['running-statements', 'RunningStatements'],
] as const
const MAX_LIMIT = 2_147_483_647

const read = (option: string, text: string) => readClientColumns({ [option]: text }, () => undefined)

describe.each(LIMIT_OPTIONS)('npm run clients: --%s', (option, column) => {
  test('sets a limit, and none removes it', () => {
    for (const value of [1, 600, MAX_LIMIT]) expect(read(option, String(value))).toEqual({ [column]: value })
    expect(read(option, 'none')).toEqual({ [column]: null })
  })

  test.each(['0', '-1', '1.5', '1e3', ' 1', '', 'many', '2147483648', '99999999999', '0x10', '01'])(
    "refuses '%s' and names the option",
    text => {
      expect(() => read(option, text)).toThrow(
        `--${option} is '${text}'; expected a number from 1 to ${MAX_LIMIT}, or none.`,
      )
    },
  )
})

test('an absent option changes nothing', () => {
  expect(readClientColumns({ 'rows-per-day': undefined, contact: 'a@b.example' }, () => undefined)).toEqual({
    Contact: 'a@b.example',
  })
})
