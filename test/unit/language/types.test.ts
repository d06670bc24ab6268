import { describe, expect, test } from 'vitest'
import { type Problem, ProblemError } from '../../../src/errors/problem.js'
import { DEFAULT_PARSE_LIMITS } from '../../../src/language/parse-limits.js'
import { getEntity } from '../../../src/model/model.js'
import { parseQuery, readQueryOptions } from '../../../src/odata/url/query-options.js'
import { bind } from '../../../src/query/bind/bind.js'
import { CASTS, type ValueType } from '../../../src/query/functions.js'
import type { Expr } from '../../../src/query/plan.js'

const LIMITS = { pageSize: 100, pageSizeMax: 1000, expandPageMax: 100, topIsTotal: false, expandDepth: 4 }
const plan = (options: string) =>
  bind(
    parseQuery(readQueryOptions(options.replaceAll(' ', '%20')), 'collection', DEFAULT_PARSE_LIMITS),
    getEntity('Property'),
    LIMITS,
  )
const filter = (text: string) => plan(`$filter=${text}`).filter
const bound = (text: string): Expr | undefined => plan(`$orderby=${text}`).orderBy[0]?.expr

function problem(options: string): Problem {
  try {
    plan(options)
  } catch (error) {
    if (error instanceof ProblemError) return error.problems[0]
    throw error
  }
  throw new Error('It was taken')
}

/** A value of each type that casts begin with. */
const SAMPLES: Readonly<Record<Exclude<ValueType, 'GeographyPolygon'> | 'Guid' | 'Binary' | 'Enum', string>> =
  {
    Boolean: '(City eq null)',
    Int32: 'DaysOnMarket',
    Int64: 'Rooms/$count',
    Decimal: 'ListPrice',
    Double: "geo.distance(GeoLocation,geography'SRID=4326;POINT(1 2)')",
    String: 'City',
    DateTimeOffset: 'ModificationTimestamp',
    Date: 'date(ModificationTimestamp)',
    TimeOfDay: 'time(ModificationTimestamp)',
    Duration: '(now() sub now())',
    GeographyPoint: 'GeoLocation',
    Guid: '01234567-89ab-cdef-0123-456789abcdef',
    Binary: "binary'T0RhdGE'",
    Enum: "org.reso.metadata.Materials'Brick'",
  }

const TARGETS = Object.keys(CASTS) as ValueType[] // its keys
const PAIRS = Object.entries(SAMPLES).flatMap(([from, value]) => TARGETS.map(to => ({ from, to, value })))
const isNamed = ({ from, to }: (typeof PAIRS)[number]) => CASTS[to]?.some(t => t === from)
const nothing = (type: ValueType) => ({ kind: 'literal', value: null, type })

describe('a cast', () => {
  test.each(PAIRS.filter(p => isNamed(p)))('of $from to $to converts', ({ to, value }) =>
    expect(bound(`cast(${value},Edm.${to})`)).toMatchObject({ kind: 'cast', type: to }),
  )

  test.each(PAIRS.filter(p => !isNamed(p) && p.to !== 'String'))(
    'of $from to $to is impossible, so it is null',
    ({ to, value }) => expect(bound(`cast(${value},Edm.${to})`)).toEqual(nothing(to)),
  )

  test.each([
    [
      'cast(01234567-89AB-cdef-0123-456789abcdef,Edm.String)',
      'String',
      '01234567-89ab-cdef-0123-456789abcdef',
    ],
    ["cast(binary'T0RhdGE',Edm.String)", 'String', 'T0RhdGE'],
    ["cast(org.reso.metadata.Materials'Brick',Edm.String)", 'String', 'Brick'],
    ["cast('PT1M',Edm.Duration)", 'Duration', '60'],
    ["cast('a minute',Edm.Duration)", 'Duration', null],
    ['cast(cast(ListPrice,Edm.Date),Edm.String)', 'String', null],
  ])('of a literal that spells the value: %s', (text, type, value) =>
    expect(bound(text)).toEqual({ kind: 'literal', type, value }),
  )

  test.each([
    ...[
      'SByte',
      'Byte',
      'Int16',
      'Single',
      'Guid',
      'Binary',
      'Stream',
      'GeographyPoint',
      'GeometryMultiPolygon',
      'PrimitiveType',
      'Untyped',
    ].map(name => `cast(DaysOnMarket,Edm.${name}) eq null`),
    'cast(null,Edm.Byte) eq null',
    'cast(GeoLocation,Edm.String) eq null',
    'cast(City,org.reso.metadata.Member) eq null',
    'cast(ListAgent,org.reso.metadata.Member) eq null',
    'cast(org.reso.metadata.Property) eq null',
  ])('to a type that is there and not built: %s', text =>
    expect(problem(`$filter=${text}`)).toMatchObject({ kind: 'NotImplemented', at: { source: '$filter' } }),
  )

  test.each([
    'cast(City,Edm.Nonsense) eq null',
    'cast(City,Edm.byte) eq null',
    'cast(City,Byte) eq null',
    'cast(City,org.reso.metadata.Nonsense) eq null',
    'cast(City,Foo.Member) eq null',
    'cast(City,Collection(Edm.String)) eq null',
    'cast(ListAgent,Edm.Nonsense) eq null',
    'isof(City,Edm.Nonsense)',
    'isof(City,Collection(Edm.Nonsense))',
    'isof(Foo.Property)',
    'isof(Property)',
  ])('or a question of a type that is not there: %s', text =>
    expect(problem(`$filter=${text}`)).toMatchObject({ kind: 'WrongType', at: { source: '$filter' } }),
  )

  test('of a collection is refused', () => {
    for (const value of ['ConstructionMaterials', '["a"]'])
      expect(problem(`$filter=cast(${value},Edm.String) eq null`).kind).toBe('NoOverload')
  })
})

describe('isof', () => {
  test.each([
    ['isof(City,Edm.Guid)', false],
    ['isof(City,org.reso.metadata.Property)', false],
    ['isof(ConstructionMaterials,Edm.PrimitiveType)', false],
    ['isof(null,Edm.String)', false],
    ["isof('a',Edm.String)", true],
    ['isof(01234567-89ab-cdef-0123-456789abcdef,Edm.Guid)', true],
    ['isof(org.reso.metadata.Property)', true],
    ['isof(org.reso.metadata.Member)', false],
  ])('%s is %s', (text, expected) => expect(bound(text)).toMatchObject({ kind: 'literal', value: expected }))

  test('of a record is not implemented', () => {
    for (const value of ['ListAgent', '$it'])
      expect(problem(`$filter=isof(${value},org.reso.metadata.Member)`).kind).toBe('NotImplemented')
  })
})

describe('a type in a path', () => {
  test.each([
    "$filter=ListAgent/org.reso.metadata.Member/MemberKey eq 'M3'",
    "$filter=org.reso.metadata.Property/City eq 'Vail'",
    "$filter=$it/org.reso.metadata.Property/City eq 'Vail'",
    "$filter=Rooms/org.reso.metadata.PropertyRooms/any(r:r/RoomType eq 'x')",
    "$filter=Rooms/any(r:r/org.reso.metadata.PropertyRooms/RoomType eq 'x')",
    '$filter=Rooms/org.reso.metadata.PropertyRooms/$count gt 1',
    '$filter=ListAgent/org.reso.metadata.Member eq null',
    "$filter=$root/Member('M1')/org.reso.metadata.Member/MemberKey eq 'M1'",
    '$orderby=org.reso.metadata.Property/City',
    '$select=org.reso.metadata.Property/City',
    '$select=City,org.reso.metadata.*',
    '$expand=org.reso.metadata.Property/Media',
    '$expand=Media/org.reso.metadata.Media',
    '$expand=Media/org.reso.metadata.Media/$count',
    '$expand=org.reso.metadata.Property/Media($select=MediaKey)',
    '$compute=org.reso.metadata.Property/ListPrice mul 2 as P',
    '$apply=groupby((org.reso.metadata.Property/City))',
  ])('%s is not built', options => {
    const [source = ''] = options.split('=')
    expect(problem(options)).toMatchObject({ kind: 'NotImplemented', at: { source } })
  })

  test.each<[string, Problem['kind']]>([
    ['$filter=ListAgent/org.reso.metadata.Nonsense/MemberKey eq 1', 'UnknownField'],
    ["$filter=Foo.Property/City eq 'Vail'", 'UnknownField'],
    ['$filter=Rooms/Foo.Rooms/$count gt 1', 'WrongType'],
    ['$select=Foo.Property/City', 'UnknownField'],
    ['$select=Foo.*', 'UnknownField'],
    ['$select=org.reso.metadata.', 'Syntax'],
    ['$select=org.reso.metadata. *', 'Syntax'],
    ['$expand=Foo.Property/Media', 'UnknownField'],
    ['$expand=Media/Foo.Media', 'UnknownField'],
    ['$expand=org.reso.metadata.Property/', 'Syntax'],
    ['$expand=org.reso.metadata.Property/Media($nonsense=1)', 'UnknownOption'],
  ])('%s: %s', (options, kind) => expect(problem(options).kind).toBe(kind))
})

describe('a name that the query gives is an identifier', () => {
  test.each([
    ["$filter=Rooms/any($it:$it/RoomType eq 'x')", 10],
    ['$filter=Rooms/any($this:true)', 10],
    ['$filter=Rooms/all(a.b:true)', 10],
    ['$compute=ListPrice mul 2 as Edm.X', 19],
    ['$compute=ListPrice mul 2 as $X', 19],
    ['$apply=aggregate($count as Edm.X)', 20],
    ['$apply=aggregate(ListPrice with sum as Edm.X)', 32],
    ['$apply=groupby((City),aggregate($count as Edm.X))', 35],
    ['$apply=compute(1 as Edm.X)', 13],
    ['$expand=Media($compute=Order add 1 as Edm.X)', 30],
  ])('%s is refused at %i', (options, offset) => {
    const [source = ''] = options.split('=')
    expect(problem(options)).toMatchObject({ kind: 'Syntax', at: { source, offset } })
  })
})

describe('a collection that is null', () => {
  test.each([
    'City in @c',
    'City in @c&@c=null',
    'City in @c&@c=@d',
    'null in @c',
    'not (City in @c)',
    'hassubset(ConstructionMaterials,@c)',
    'hassubset(ConstructionMaterials,null)',
    'hassubsequence(@c,ConstructionMaterials)',
  ])('makes nothing of %s', text => {
    const found = filter(text)
    expect(text.startsWith('not') && found?.kind === 'call' ? found.args[0] : found).toEqual(
      nothing('Boolean'),
    )
  })

  test.each<[string, Problem['kind']]>([
    ['City in null', 'Syntax'],
    ['City in @c&@c=5', 'Syntax'],
    ['City in @c&@c=@c', 'UndefinedAlias'],
    ['Nonsense in @c', 'UnknownField'],
    ['GeoLocation in @c', 'NoOverload'],
  ])('%s: %s', (text, kind) => expect(problem(`$filter=${text}`).kind).toBe(kind))
})

describe('functions of collections', () => {
  test.each([
    'contains(ConstructionMaterials,["Brick"])',
    'contains(["Brick"],ConstructionMaterials)',
    'startswith(ConstructionMaterials,[])',
    'endswith(ConstructionMaterials,@c)',
    'indexof(ConstructionMaterials,["Brick"]) eq 0',
    'substring(ConstructionMaterials,1) eq null',
    'substring(ConstructionMaterials,1,2) eq null',
    'concat(ConstructionMaterials,["Brick"]) eq null',
  ])('%s is not built', text =>
    expect(problem(`$filter=${text}`)).toMatchObject({ kind: 'NotImplemented', at: { source: '$filter' } }),
  )

  test.each([
    "contains(ConstructionMaterials,'x')",
    'contains(City,["x"])',
    'contains(ConstructionMaterials)',
    "substring(ConstructionMaterials,'x') eq null",
    "concat('x',ConstructionMaterials) eq null",
    'tolower(ConstructionMaterials) eq null',
  ])('%s is refused', text => expect(problem(`$filter=${text}`).kind).toBe('NoOverload'))
})
