import { expect, test } from 'vitest'
import { readTags } from '../../../prisma/model-tags.js'

test('prose becomes the description, tags become facts', () => {
  expect(
    readTags('Property.City', 'City of the\naddress.\n@length(255)\n@lookup(City, open)\n@required'),
  ).toEqual({
    description: 'City of the address.',
    tags: { length: 255, lookup: { name: 'City', policy: 'open' }, required: true },
    references: [],
  })
})

test('a navigation by free reference is a tag of the model', () => {
  expect(
    readTags('Property', '@reference(ListAgent, Member, ListAgentKey) The listing agent.').references,
  ).toEqual([{ name: 'ListAgent', target: 'Member', local: 'ListAgentKey', text: 'The listing agent.' }])
})

test('the reason why a field is deprecated is prose', () => {
  expect(readTags('Property.City', '@deprecated(Use CityRegion, it is exact.)').tags).toEqual({
    deprecated: 'Use CityRegion, it is exact.',
  })
})

test.each([
  ['an unknown tag', '@lenght(255)', 'unknown tag @lenght'],
  ['a name of every object', '@constructor', 'unknown tag @constructor'],
  ['a number that is none', '@length(many)', '@length does not take (many)'],
  ['too few arguments', '@digits(14)', '@digits does not take (14)'],
  ['an unknown policy', '@lookup(City, shut)', '@lookup does not take (City, shut)'],
  ['an argument where there is none', '@service(yes)', '@service does not take (yes)'],
  ['unknown readers', '@readable(friends)', '@readable does not take (friends)'],
  ['words behind a tag', '@service always', '@service does not take'],
  ['no reason', '@deprecated', '@deprecated does not take'],
  ['an empty reason', '@deprecated()', '@deprecated does not take ()'],
  ['half a reference', '@reference(ListAgent, Member)', '@reference takes'],
])('%s stops the generator', (_, tag, message) => {
  expect(() => readTags('Property.City', tag)).toThrow(message)
})
