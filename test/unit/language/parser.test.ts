import { describe, expect, test } from 'vitest'
import { type Problem, ProblemError } from '../../../src/errors/problem.js'
import { DEFAULT_PARSE_LIMITS, type ParseContext } from '../../../src/language/parse-limits.js'
import {
  parseCompute,
  parseExpand,
  parseFilter,
  parseOrderBy,
  parseSearch,
  parseSelect,
} from '../../../src/language/parser.js'
import { show, showQuery } from './format-syntax.js'

const aliases = new Map(
  Object.entries({
    c: "'Vail'",
    n: '5',
    list: '["Vail","Aspen"]',
    set: "('a','b')",
    f: 'City eq @c',
    loop: '@loop2',
    loop2: '@loop',
    bad: "'Vail",
  }),
)
const context: ParseContext = { limits: DEFAULT_PARSE_LIMITS, aliases }

function problem(parse: () => unknown): Problem {
  try {
    parse()
  } catch (error) {
    if (error instanceof ProblemError) return error.problems[0]
    throw error
  }
  throw new Error('It was read')
}

describe('expressions', () => {
  test.each([
    // Precedence and association (Part 2, 5.1.1.17).
    ["City eq 'a' or City eq 'b' and City eq 'c'", "(or (eq City 'a') (and (eq City 'b') (eq City 'c')))"],
    [
      'true and false and (true and false) or true or false',
      '(or (and true false (and true false)) true false)',
    ],
    ['1 sub 2 sub 3', '(sub (sub 1 2) 3)'],
    ['2 add 3 mul 4 eq 14', '(eq (add 2 (mul 3 4)) 14)'],
    ['5 divby 2 mod 2 div 1', '(div (mod (divby 5 2) 2) 1)'],
    ['a gt b eq c lt d', '(eq (gt a b) (lt c d))'],
    ["not City eq 'a'", "(eq (not City) 'a')"],
    ["not City in ('a')", "(not (in City ['a']))"],
    ["not(contains(City,'a'))", "(not (contains City 'a'))"],
    ['NOT NOT true', '(not (not true))'],
    ['-a mul b', '(mul (negate a) b)'],
    ['a sub -5', '(sub a -5)'],
    ['--5', '(negate -5)'],
    ['-(a add 1) lt - b', '(lt (negate (add a 1)) (negate b))'],
    ["a has 'x' eq true", "(eq (has a 'x') true)"],
    ["City  EQ\t'Vail' AND ListPrice Gt 1", "(and (eq City 'Vail') (gt ListPrice 1))"],
    // Calls.
    ["concat( City , 'a' )", "(concat City 'a')"],
    ['now( )', '(now)'],
    [
      "Geo.Distance(GeoLocation,geography'SRID=4326;Point(1 2)')",
      '(geo.distance GeoLocation GeographyPoint:1 2)',
    ],
    ['cast(TaxYear,Edm.String)', '(cast TaxYear <Edm.String>)'],
    ["Cast(TaxYear, 'Edm.String')", '(cast TaxYear <Edm.String>)'],
    ['isof(org.reso.metadata.Property)', '(isof <org.reso.metadata.Property>)'],
    ['cast(a,Collection(Edm.String))', '(cast a <Collection(Edm.String)>)'],
    ['case( a gt 0 : 1 , true : 0 )', '(case (gt a 0) 1 true 0)'],
    // A colon after a number in a condition of `case` ends the number.
    ['case(a gt 10:20,true:30)', '(case (gt a 10) 20 true 30)'],
    ['case(a gt 10:20,b gt 10:30,true:40)', '(case (gt a 10) 20 (gt b 10) 30 true 40)'],
    ['case(a gt 10:20 add c,true:1)', '(case (gt a 10) (add 20 c) true 1)'],
    ['case(a gt 10:-20.5,true:20.5)', '(case (gt a 10) Decimal:-20.5 true Decimal:20.5)'],
    ['case(a gt 10:20.5,true:1)', '(case (gt a 10) Decimal:20.5 true 1)'],
    ['case(a gt 10:20e1,true:1)', '(case (gt a 10) Decimal:200 true 1)'],
    ['case(a gt 10:10:20,true:11:30)', '(case (gt a 10) TimeOfDay:10:20:00 true TimeOfDay:11:30:00)'],
    [
      'case(a gt 30:1969-12-31T10:20:00Z,true:b)',
      '(case (gt a 30) DateTimeOffset:1969-12-31T10:20:00Z true b)',
    ],
    ['case(a gt 12:2024-06-15,true:b)', '(case (gt a 12) Date:2024-06-15 true b)'],
    [
      'case(case(a gt 10:20,true:30) gt 10:20,true:30)',
      '(case (gt (case (gt a 10) 20 true 30) 10) 20 true 30)',
    ],
    ['(case(a gt 10:20,true:30)) eq 20', '(eq (case (gt a 10) 20 true 30) 20)'],
    // A condition with a colon of its own compares with a time of day.
    ['case(time(a) gt 10:20:1,true:0)', '(case (gt (time a) TimeOfDay:10:20:00) 1 true 0)'],
    ["case(time(a) gt 10:20:30:'x',true:'y')", "(case (gt (time a) TimeOfDay:10:20:30) 'x' true 'y')"],
    [
      'case(time(a) gt 10:20 and b gt 10:30,true:0)',
      '(case (and (gt (time a) TimeOfDay:10:20:00) (gt b 10)) 30 true 0)',
    ],
    ['case((time(a) gt 10:20):1,true:0)', '(case (gt (time a) TimeOfDay:10:20:00) 1 true 0)'],
    // Lists.
    ["City in ( 'a' ,'b, c')", "(in City ['a' 'b, c'])"],
    ['City in ()', '(in City [])'],
    ['City in ["a","\\u0062\\""]', `(in City ['a' 'b"'])`],
    ['hassubset([1,2],[1])', '(hassubset [1 2] [1])'],
    ["'a' in ConstructionMaterials", "(in 'a' ConstructionMaterials)"],
    // Paths, lambdas, counts.
    ['ListAgent/Office/OfficeName eq null', '(eq ListAgent/Office/OfficeName null)'],
    ['$it/City eq $this/City', '(eq $it/City $this/City)'],
    ["$root/Member('M''1')/MemberKey", "(root Member 'M'1' MemberKey)"],
    ["$root/Member(MemberKey='M1')/Office/OfficeKey", "(root Member 'M1' Office/OfficeKey)"],
    ['Rooms/any()', '(any Rooms)'],
    ['Rooms/ANY( r : r/RoomType eq $it/City )', '(any Rooms r: (eq r/RoomType $it/City))'],
    [
      'a/all(enum:enum/x eq 1 and enum/Media/any(not:not eq enum/y))',
      '(all a enum: (and (eq enum/x 1) (any enum/Media not: (eq not enum/y))))',
    ],
    ['Rooms/$count gt 2', '(gt (count Rooms) 2)'],
    [
      "Rooms/$count($filter=RoomType eq 'a;)';search=x OR y) gt 2",
      `(gt (count Rooms filter (eq RoomType 'a;)') search (or "x" "y")) 2)`,
    ],
    ['Rooms/$filter(a)/$filter(b)/$count($filter=c)', '(count Rooms filter (and (and a b) c))'],
    // Aliases.
    ['City eq @c', "(eq City 'Vail')"],
    [
      '@f and a in @list or b in @set',
      "(or (and (eq City 'Vail') (in a ['Vail' 'Aspen'])) (in b ['a' 'b']))",
    ],
    ['City eq @none', '(eq City null)'],
    ['City in @none', '(in City null)'],
    // Names.
    ['city/São_1', 'city/São_1'],
    ['ISNULL', 'ISNULL'],
  ])('%s', (text, expected) => expect(show(parseFilter(text, context))).toBe(expected))
})

describe('literals', () => {
  test.each([
    ["'O''Brien \\'", "'O'Brien \\'"],
    ['null', 'null'],
    ['TRUE', 'true'],
    ['False', 'false'],
    ['NULL', 'NULL'],
    ['+5', '5'],
    ['-0', '0'],
    ['007', '7'],
    ['-2147483648', '-2147483648'],
    ['2147483648', 'Int64:2147483648'],
    ['9223372036854775807', 'Int64:9223372036854775807'],
    ['-9223372036854775809', 'Decimal:-9223372036854775809'],
    ['1.50', 'Decimal:1.50'],
    ['00100.0', 'Decimal:100.0'],
    ['2.5e5', 'Decimal:250000'],
    ['-1.5E-3', 'Decimal:-0.0015'],
    ['12.345e+1', 'Decimal:123.45'],
    ['0e9', 'Decimal:0'],
    ['INF', 'Double:INF'],
    ['-INF', 'Double:-INF'],
    ['NaN', 'Double:NaN'],
    ['inf', 'inf'],
    ['2024-02-29', 'Date:2024-02-29'],
    ['0001-01-01', 'Date:0001-01-01'],
    ['08:30', 'TimeOfDay:08:30:00'],
    ['23:59:59.1230', 'TimeOfDay:23:59:59.123'],
    ['08:30:60', 'TimeOfDay:08:31:00'],
    ['2024-06-15T12:00+02:00', 'DateTimeOffset:2024-06-15T10:00:00Z'],
    ['2024-01-01t00:30:00.5z', 'DateTimeOffset:2024-01-01T00:30:00.5Z'],
    ['2023-12-31T23:30:00.123456789012-07:30', 'DateTimeOffset:2024-01-01T07:00:00.123456789012Z'],
    ['2024-06-30T23:59:60Z', 'DateTimeOffset:2024-07-01T00:00:00Z'],
    ['0099-12-31T23:59:59.000Z', 'DateTimeOffset:0099-12-31T23:59:59Z'],
    ["duration'P1DT2H'", 'Duration:93600'],
    ["Duration'-PT0.50S'", 'Duration:-0.5'],
    ["duration'PT36H1M'", 'Duration:129660'],
    ['01234567-89AB-cdef-0123-456789abcdef', 'Guid:01234567-89ab-cdef-0123-456789abcdef'],
    ['abcdef01-89ab-cdef-0123-456789abcdef', 'Guid:abcdef01-89ab-cdef-0123-456789abcdef'],
    ["binary'T0RhdGE'", 'Binary:T0RhdGE'],
    ["binary'AA=='", 'Binary:AA'],
    ["Listing.Materials'Brick,Stone'", 'Enum:Brick,Stone'],
    ["geography'SRID=4326;POINT(-105.0 39.7)'", 'GeographyPoint:-105.0 39.7'],
    ["Geography'srid=4326;point(1e2 -3.5E1)'", 'GeographyPoint:100 -35'],
    [
      "geography'SRID=4326;Polygon((0 0,1 0, 1 1,0 0),(0 0,2 0,2 2,0 0))'",
      'GeographyPolygon:0 0,1 0,1 1,0 0;0 0,2 0,2 2,0 0',
    ],
    ["geography'SRID=4326;LineString(0 0,1 1)'", 'GeographyOther:LineString(0 0,1 1)'],
    ["geometry'SRID=0;Point(1 2)'", 'GeometryPoint:1 2'],
  ])('%s', (text, expected) => expect(show(parseFilter(text, context))).toBe(expected))

  test.each([
    ['2024-02-30'],
    ['2023-02-29T00:00:00Z'],
    ['2024-01-01T24:00:00Z'],
    ['2024-01-01T00:00:61Z'],
    ['2024-01-01T00:00:00'],
    ['2024-01-01T00:00:00+24:00'],
    ['2024-01-01T00:00:00.1234567890123Z'],
    ['10:61'],
    ['02024-01-01'],
    ['1e400'],
    ['1e-400'],
    ['9'.repeat(400)],
    ["duration'P'"],
    ["duration'P1DT'"],
    ["duration'P1M'"],
    ["duration'P99999999999999D'"],
    ["binary'A'"],
    ["geography'SRID=4326;POINT(200 1)'"],
    ["geography'SRID=4326;POINT(1)'"],
    ["geography'POINT(1 2)'"],
    ["geography'SRID=4326;POLYGON((0 0,1 0,1 1))'"],
    ["geography'SRID=4326;LineString(0 0))('"],
    ['["\\x"]'],
  ])('%s is refused', text => expect(problem(() => parseFilter(text, context)).kind).toBe('BadLiteral'))

  test.each([
    ['-0044-03-15'],
    ['0000-01-01'],
    ['12024-01-01'],
    ['9999-12-31T23:59:59-01:00'],
    ["geography'SRID=3857;POINT(1 2)'"],
    ['{"a":1}'],
    ['@Core.Term'],
    ['@c/x'],
  ])('%s is not built', text => expect(problem(() => parseFilter(text, context)).kind).toBe('NotImplemented'))
})

describe('malformed expressions', () => {
  test.each([
    ["City eq 'O'Brien'", 11, 'an operator or the end', 'A quote inside a string must be doubled.'],
    ["City eq'x'", 5, 'an operator or the end', 'Operators need spaces around them.'],
    ["'a'eq City", 3, 'a space'],
    ['City eq(1)', 7, 'a space after eq'],
    ['(a)and (b)', 3, 'a space'],
    ['City eq "Vail"', 8, 'a value, a field or a function', 'Strings need single quotes.'],
    ["City == 'a'", 5, 'an operator or the end', "The OData syntax is 'eq'."],
    ["City != 'a'", 5, 'an operator or the end', "The OData syntax is 'ne'."],
    ['a && b', 2, 'an operator or the end', "The OData syntax is 'and'."],
    ["City like 'a'", 5, 'an operator or the end', "The OData syntax is 'contains(field,text)'."],
    ["City in 'a'", 8, "a list like ('a','b')"],
    ["City eq ('a','b')", 12, "an operator or ')'"],
    ['true ', 5, 'an operator or the end'],
    ['Rooms/all()', 10, 'a variable'],
    ['Rooms /any()', 6, 'an operator or the end'],
    ['Rooms/ any()', 7, 'a field, $count, any or all'],
    ['case()', 5, 'a value, a field or a function'],
    ['cast(a,1)', 7, 'a type like Edm.String'],
    ['$filter=a', 0, 'a value or a field'],
    ['City eq @bad', 0, 'a value, a field or a function', 'A quote inside a string must be doubled.'],
  ])('%s', (text: string, offset: number, expected: string, hint?: string) => {
    const found = problem(() => parseFilter(text, context))
    expect(found).toMatchObject({ kind: 'Syntax', at: { offset }, ...(hint !== undefined && { hint }) })
    if (text !== 'true ') expect(found).toMatchObject({ expected })
  })
})

describe('limits', () => {
  test.each([
    ['400 terms', Array.from({ length: 400 }, (_, i) => `City eq '${i}'`).join(' or '), 'read'],
    ['50 brackets', `${'('.repeat(50)}true${')'.repeat(50)}`, 'read'],
    ['60 times not', `${'not '.repeat(60)}true`, 'read'],
    ['2000 items', `a in (${Array.from({ length: 2000 }, (_, i) => i).join()})`, 'read'],
    ['2001 items', `a in (${Array.from({ length: 2001 }, (_, i) => i).join()})`, 'QueryTooComplex'],
    ['2000 brackets', `${'('.repeat(2000)}true${')'.repeat(2000)}`, 'QueryTooComplex'],
    ['5000 times not', `${'not '.repeat(5000)}true`, 'QueryTooComplex'],
    ['5000 minus signs', `${'-'.repeat(5000)}a`, 'QueryTooComplex'],
    ['a high tree without brackets', Array.from({ length: 200 }, () => '1').join(' add '), 'QueryTooComplex'],
    [
      '6000 parts',
      Array.from({ length: 3000 }, () => 'a')
        .join(' and ')
        .replaceAll('a and', 'f(a) and'),
      'QueryTooComplex',
    ],
  ])('%s', (_, text, expected) => {
    const start = performance.now()
    const result =
      expected === 'read'
        ? show(parseFilter(text, context)) && 'read'
        : problem(() => parseFilter(text, context)).kind
    expect(result).toBe(expected)
    expect(performance.now() - start).toBeLessThan(5000)
  })

  test('aliases that double each other', () => {
    const doubling = new Map(Array.from({ length: 30 }, (_, i) => [`a${i}`, `(@a${i + 1}) add (@a${i + 1})`]))
    expect(problem(() => parseFilter('@a0', { ...context, aliases: doubling })).kind).toBe('QueryTooComplex')
    expect(problem(() => parseFilter('@loop eq 1', context)).kind).toBe('UndefinedAlias')
    expect(problem(() => parseFilter('a in @loop', context)).kind).toBe('UndefinedAlias')
  })
})

describe('lists of items', () => {
  test('$orderby', () =>
    expect(
      showQuery({
        orderBy: parseOrderBy('City, ListPrice DESC,Rooms/$count asc,geo.distance(a,b) desc', context),
      }),
    ).toEqual({
      orderBy: [
        { expr: 'City', descending: false },
        { expr: 'ListPrice', descending: true },
        { expr: '(count Rooms)', descending: false },
        { expr: '(geo.distance a b)', descending: true },
      ],
    }))

  test('$select', () =>
    expect(parseSelect('*,City, Media/MediaKey', context).map(s => s.name)).toEqual([
      '*',
      'City',
      'Media/MediaKey',
    ]))

  test('$compute', () =>
    expect(showQuery({ compute: parseCompute('a mul 2 as B,length(c) as L', context) })).toEqual({
      compute: [
        { expr: '(mul a 2)', name: 'B' },
        { expr: '(length c)', name: 'L' },
      ],
    }))

  test('$expand', () => {
    const text = `Media($filter=MediaType eq 'a;b)' and (Order gt 1);select=MediaKey,Order; $TOP=2;skip=1;$count=True;$search=a AND b;$levels=max;$orderby=Order desc;$expand=X($top=1)),Rooms/$ref($top=1),OpenHouses/$count,*($levels=1)`
    expect(parseExpand(text, context).map(({ name, form, query }) => [name, form, showQuery(query)])).toEqual(
      [
        [
          'Media',
          'records',
          {
            filter: "(and (eq MediaType 'a;b)') (gt Order 1))",
            select: [{ name: 'MediaKey' }, { name: 'Order' }],
            top: 2,
            skip: 1,
            count: true,
            search: '(and "a" "b")',
            orderBy: [{ expr: 'Order', descending: true }],
            expand: [{ name: 'X', form: 'records', query: { top: 1 } }],
          },
        ],
        ['Rooms', 'references', { top: 1 }],
        ['OpenHouses', 'count', {}],
        ['*', 'records', {}],
      ],
    )
    expect(parseExpand('*/$ref', context)).toMatchObject([{ name: '*', form: 'references' }])
  })

  test.each([
    [() => parseExpand('Media()', context), 'Syntax'],
    [() => parseExpand('Media($select)', context), 'Syntax'],
    [() => parseExpand('Media/Foo', context), 'Syntax'],
    [() => parseExpand('Media,Media', context), 'DuplicateItem'],
    [() => parseExpand('Media($top=1;TOP=2)', context), 'DuplicateOption'],
    [() => parseExpand('Media($fliter=true)', context), 'UnknownOption'],
    [() => parseExpand('Media($format=json)', context), 'OptionNotAllowed'],
    [() => parseExpand('Media/$count($top=1)', context), 'OptionNotAllowed'],
    [() => parseExpand('Media($levels=0)', context), 'BadOptionValue'],
    [() => parseExpand('Media($skip=-1)', context), 'BadOptionValue'],
    [() => parseExpand('*($levels=2)', context), 'NotImplemented'],
    [() => parseExpand('$value', context), 'NotImplemented'],
    [() => parseExpand(`${'A($expand='.repeat(200)}B${')'.repeat(200)}`, context), 'QueryTooComplex'],
    [() => parseSelect('Materials($top=1)', context), 'NotImplemented'],
    [() => parseSelect('City ListPrice', context), 'Syntax'],
    [() => parseSelect("'City'", context), 'Syntax'],
    [() => parseOrderBy('City descending', context), 'Syntax'],
    [() => parseCompute('as X', context), 'Syntax'],
  ])('%s: %s', (parse, kind) => expect(problem(parse).kind).toBe(kind))
})

describe('$search', () => {
  test.each([
    ['denver', '"denver"'],
    ['denver vail', '(and "denver" "vail")'],
    ['a OR b AND NOT c', '(or "a" (and "b" (not "c")))'],
    ['(a OR b) "main  street"', '(and (or "a" "b") "main  street")'],
    ['"NOT" "AND"', '(and "NOT" "AND")'],
    ['a not', '(and "a" "not")'],
    ['ANDES NOTE', '(and "ANDES" "NOTE")'],
    ['a;b', '"a;b"'],
    ['x; y', '(and "x;" "y")'],
    ['a or b', '(and (and "a" "or") "b")'],
    ["'it''s \"here'", '"it\'s "here"'],
    ["O'Neil 3.14", '(and "O\'Neil" "3.14")'],
    ['NOT NOT a', '(not (not "a"))'],
  ])('%s', (text, expected) => expect(show(parseSearch(text, context))).toBe(expected))

  test.each([
    ['"open'],
    ['""'],
    ['(a'],
    ['a)'],
    ['()'],
    ['a"b"'],
    [' '],
    ['foo AND'],
    ['foo OR'],
    ['foo NOT'],
    ['NOT'],
    ['AND foo'],
    ['OR'],
    ['(foo AND)'],
    ['foo AND AND bar'],
    ['NOT(foo)'],
  ])('%s is refused', text => expect(problem(() => parseSearch(text, context)).kind).toBe('Syntax'))
  test('it has limits', () => {
    expect(problem(() => parseSearch('('.repeat(3000), context)).kind).toBe('QueryTooComplex')
    expect(problem(() => parseSearch('NOT '.repeat(3000), context)).kind).toBe('QueryTooComplex')
    expect(problem(() => parseSearch('a '.repeat(3000), context)).kind).toBe('QueryTooComplex')
  })
})
