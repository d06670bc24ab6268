import { expect, test } from 'vitest'
import { withoutSuggestions } from '../../../src/graphql/errors.js'

// biome-ignore format: table
test.each([
  ['Cannot query field "Citi" on type "Property". Did you mean "City"?',         'Cannot query field "Citi" on type "Property".'],
  ['Unknown type "Properti". Did you mean "Property", "Properties", or "Node"?', 'Unknown type "Properti".'],
  ["Property has no field 'Citi'. Did you mean 'City'?",                         "Property has no field 'Citi'."],
  ["Why? it has no field 'Citi'. Did you mean 'City'?",                          "Why? it has no field 'Citi'."],
  ['Did you mean it? It is no value.',                                           'Did you mean it? It is no value.'],
  ['Is it no value?',                                                            'Is it no value?'],
  ['?',                                                                          '?'],
  ['',                                                                           ''],
])('a message without what it suggests: %s', (message, expected) => {
  expect(withoutSuggestions({ message }).message).toBe(expected)
})

test('a text that repeats the words of a suggestion is scanned in linear time', () => {
  const message = `Int cannot represent non-integer value: "${'Did you mean '.repeat(80_000)}"`
  expect(withoutSuggestions({ message }).message).toBe(message)
})
