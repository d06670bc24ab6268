import { expect, test } from 'vitest'
import { dependsOnOtherRecords } from '../../../src/replicate/replication.js'

test.each([
  ["City eq 'Vail'", false],
  ["City eq 'a/b' and PublicRemarks ne 'now()'", false],
  ["City eq 'O''Fallon/now()' or ListPrice gt 5", false],
  ["contains(PublicRemarks,'/') and Knowledge eq 1", false],
  ["Rooms/any(r:r/RoomType eq 'Attic')", true],
  ["ListAgent/MemberLastName eq 'Lee'", true],
  ["City eq 'O''Fallon' and ModificationTimestamp gt now()", true],
])('the client warns about a filter that reads related records or the clock: %s', (filter, expected) => {
  expect(dependsOnOtherRecords(filter)).toBe(expected)
})
