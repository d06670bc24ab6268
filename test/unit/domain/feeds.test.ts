import { describe, expect, test } from 'vitest'
import { type FeedContent, hidesField } from '../../../src/domain/feeds/feed.js'
import { getEntity } from '../../../src/model/model.js'

const PROPERTY = getEntity('Property')
const SHOWS_ALL: FeedContent = {
  hiddenFields: [],
  showsMedia: true,
  showsOpenHouses: true,
  showsMembers: true,
}
const hiddenBy = (content: Partial<FeedContent>): readonly string[] =>
  PROPERTY.scalars.filter(field => hidesField({ ...SHOWS_ALL, ...content }, field)).map(({ name }) => name)

describe('fields that a feed hides', () => {
  test('SoldPrice and ClosePrice are hidden together, and so are GeoLocation, Latitude and Longitude', () => {
    for (const group of [['SoldPrice', 'ClosePrice'], ['GeoLocation', 'Latitude', 'Longitude']])
      for (const name of group) {
        expect(hiddenBy({ hiddenFields: [name] }).toSorted()).toEqual(group.toSorted())
        // A field shown alone would disclose the others.
        expect(hiddenBy({ onlyFields: [name, 'City'] })).toEqual(expect.arrayContaining(group))
      }
  }) // biome-ignore format: one test

  test('FED-16: what replication needs is always shown, fields of other entities are not hidden', () => {
    const shown = ['ListingKey', 'ModificationTimestamp', 'LastEventSequence']
    expect(hiddenBy({ onlyFields: [] })).toHaveLength(PROPERTY.scalars.length - shown.length)
    for (const name of shown) expect(hiddenBy({ onlyFields: [] })).not.toContain(name)
    const [order] = getEntity('Media').scalars.filter(({ name }) => name === 'Order')
    expect(order && hidesField({ ...SHOWS_ALL, onlyFields: [] }, order)).toBe(false)
  })

  test('FED-14: a feed without media hides the number and the times of photos', () => {
    expect(hiddenBy({ showsMedia: false }).toSorted()).toEqual([
      'MediaChangeTimestamp', 'PhotosChangeTimestamp', 'PhotosCount',
    ]) // biome-ignore format: one list
  })
})
