import { describe, expect, test } from 'vitest'
import { type Problem, ProblemError } from '../../../src/errors/problem.js'
import { DEFAULT_PARSE_LIMITS, type ParseContext } from '../../../src/language/parse-limits.js'
import { type ResourcePath, readResourcePath, resourceKindOf } from '../../../src/odata/url/resource-path.js'
import { show } from './format-syntax.js'

const context: ParseContext = {
  limits: DEFAULT_PARSE_LIMITS,
  aliases: new Map(Object.entries({ k: "'P01'", f: "City eq 'a'", n: 'null' })),
}

/** `Entity[key].Navigation > Entity[key] form`. */
function write(path: ResourcePath): string {
  if (!('navigationPath' in path)) return path.kind
  const hops = path.navigationPath
    .map(({ entity, key, navigation }) => `${entity.name}[${key ?? ''}].${navigation.name} > `)
    .join('')
  const key = path.kind === 'collection' ? '' : `[${path.key ?? ''}]`
  const scalar = path.kind === 'value' ? `.${path.scalar.name}` : ''
  const filters = path.kind === 'collection' ? path.filters.map(f => ` ${show(f)}`).join('') : ''
  return `${hops}${path.entity.name}${key}${scalar} ${path.form}${filters}`
}

const read = (raw: string) => write(readResourcePath(raw, context))

function problem(run: () => unknown): Problem {
  try {
    run()
  } catch (error) {
    if (error instanceof ProblemError) return error.problems[0]
    throw error
  }
  throw new Error('It was read')
}

describe('what is read', () => {
  test.each([
    ['', 'service'],
    ['/', 'service'],
    ['$metadata', 'metadata'],
    ['%24metadata', 'metadata'],
    ['$batch/', 'batch'],
    ['$entity', 'entityId'],
    ['Property', 'Property records'],
    ['/Property//', 'Property records'],
    ['PropertyRooms', 'Rooms records'],
    ['Property/$count', 'Property count'],
    ['Property/$ref', 'Property references'],
    ['Property/$query', 'Property query'],
    ['Property/$filter(@f)', "Property records (eq City 'a')"],
    [
      "Property/$filter(Rooms/any(r:r/RoomType%20eq%20'a/b)'))/$filter(true)/$count",
      "Property count (any Rooms r: (eq r/RoomType 'a/b)')) true",
    ],
    ["Property('P01')", 'Property[P01] record'],
    ['Property(%27P01%27)', 'Property[P01] record'],
    ['Property%28%27P01%27%29/', 'Property[P01] record'],
    ["Property(ListingKey='P01')", 'Property[P01] record'],
    ["Property('P''00')", "Property[P'00] record"],
    ["Property('P%2F00')", 'Property[P/00] record'],
    ["Property('a%3D(b)')", 'Property[a=(b)] record'],
    ['Property(@k)', 'Property[P01] record'],
    ['Property(ListingKey=@k)/Media', 'Property[P01].Media > Media records'],
    ['Property/P01', 'Property[P01] record'],
    ['Property/P01/Media', 'Property[P01].Media > Media records'],
    ["Property/P'0%2F1", "Property[P'0/1] record"],
    ['Property/City', 'Property[City] record'],
    ['EntityEvent(5)', 'EntityEvent[5] record'],
    ["EntityEvent('5')", 'EntityEvent[5] record'],
    ['EntityEvent/5', 'EntityEvent[5] record'],
    ["Property('P01')/$ref", 'Property[P01] reference'],
    ["Property('P01')/City", 'Property[P01].City value'],
    ["Property('P01')/City/$value", 'Property[P01].City raw'],
    ["Property('P01')/ConstructionMaterials/$count", 'Property[P01].ConstructionMaterials count'],
    ["Property('P01')/Media/$count", 'Property[P01].Media > Media count'],
    ["Property('P01')/Media('M1')/MediaURL", 'Property[P01].Media > Media[M1].MediaURL value'],
    ['Property/P01/Media/M1', 'Property[P01].Media > Media[M1] record'],
    ["Rooms('R1')/Listing/City", 'Rooms[R1].Listing > Property[].City value'],
    [
      "Rooms('R1')/Listing/ListAgent/Office/$ref",
      'Rooms[R1].Listing > Property[].ListAgent > Member[].Office > Office[] reference',
    ],
    ["Rooms('R1')/Listing/Media/$count", 'Rooms[R1].Listing > Property[].Media > Media count'],
  ])('%s', (raw, expected) => expect(read(raw)).toBe(expected))

  test.each([
    ['', 'service'],
    ['Property', 'collection'],
    ['Property/$count', 'count'],
    ['Property/$ref', 'references'],
    ['Property/P', 'record'],
    ['Property/P/$ref', 'reference'],
    ['Property/P/City/$value', 'value'],
    ['$entity', 'entityId'],
  ])('%s takes the options of a %s', (raw, place) =>
    expect(resourceKindOf(readResourcePath(raw, context))).toBe(place),
  )
})

describe('what is refused', () => {
  test.each<[string, Problem['kind']]>([
    ['property', 'NotFound'],
    ['constructor', 'NotFound'],
    ['__proto__', 'NotFound'],
    ['$Metadata', 'NotFound'],
    ['$nosuch', 'NotFound'],
    ['$crossjoin()', 'NotFound'],
    ['$metadata/Property', 'NotFound'],
    ["Property('P01')/NoSuch", 'NotFound'],
    ["Property('P01')/constructor", 'NotFound'],
    ["Property('P01')/City/$count", 'NotFound'],
    ["Property('P01')/City/x", 'NotFound'],
    ["Property('P01')/City('x')", 'NotFound'],
    ["Property('P01')/$nosuch", 'NotFound'],
    ['Property/$count/x', 'NotFound'],
    ["Property('P01')/ListAgent('M1')", 'NotFound'],
    ['Property/Media', 'NotFound'],
    ['EntityEvent/x', 'NotFound'],
    ['Property/$value', 'NotFound'],
    ["Property('P/00')", 'BadKey'],
    ['Property()', 'BadKey'],
    ['Property(', 'BadKey'],
    ["Property('P01'", 'BadKey'],
    ["Property('P01')x", 'BadKey'],
    ['Property(P01)', 'BadKey'],
    ["Property('P'00')", 'BadKey'],
    ['Property(5)', 'BadKey'],
    ["Property(NoSuch='P01')", 'BadKey'],
    ["Property(ListingKey='a',X='b')", 'BadKey'],
    ['Property(@none)', 'BadKey'],
    ['Property(@n)', 'BadKey'],
    ['Property(null)', 'BadKey'],
    ['EntityEvent(1.5)', 'BadKey'],
    ["EntityEvent('x')", 'BadKey'],
    ['EntityEvent(99999999999999999999)', 'BadKey'],
    ["Property('P01')/$value", 'BadRequest'],
    ["Property('P01')/ConstructionMaterials/$value", 'BadRequest'],
    ['Property/$filter(City%20eq)', 'Syntax'],
    ["Property('%00')", 'BadEncoding'],
    ['Property/%', 'BadEncoding'],
    ['$all', 'NotImplemented'],
    ['$crossjoin(Property,Member)', 'NotImplemented'],
    ['Property/$each', 'NotImplemented'],
    ['Property/org.reso.metadata.Property', 'NotImplemented'],
    ["Property('P01')/org.reso.metadata.Property", 'NotImplemented'],
    ["Property('P01')/ConstructionMaterials/0", 'NotImplemented'],
  ])('%s: %s', (raw, kind) => expect(problem(() => read(raw)).kind).toBe(kind))
})

describe('large paths', () => {
  test('the slashes of a filter are joined in linear time', () => {
    // One million parts. A parser with quadratic time would not finish.
    const raw = `Property/$filter(${`'/`.repeat(1_000_000)}x)`
    expect(problem(() => read(raw)).kind).toBe('Syntax')
    expect(read("Property/$filter(City%20eq%20'(//('%20and%20Media/any())/$count")).toContain('count')
  })

  test.each(['Property/$filter(true)', "Rooms('R1')/Listing/ListAgent/Office/OfficeBroker"])(
    'the number of segments after %s is limited',
    start => {
      const repeated = start.startsWith('Rooms') ? '/Office/OfficeBroker' : '/$filter(true)'
      const { maxDepth } = context.limits
      expect(problem(() => read(start + repeated.repeat(maxDepth)))).toMatchObject({
        kind: 'QueryTooComplex',
        limit: maxDepth,
      })
      expect(read(start + repeated.repeat(10))).not.toBe('')
    },
  )
})
