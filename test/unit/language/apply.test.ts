import { describe, expect, test } from 'vitest'
import { type Problem, ProblemError } from '../../../src/errors/problem.js'
import { DEFAULT_PARSE_LIMITS, type ParseContext } from '../../../src/language/parse-limits.js'
import { parseOption } from '../../../src/language/parser.js'
import { getEntity } from '../../../src/model/model.js'
import { parseQuery, readQueryOptions } from '../../../src/odata/url/query-options.js'
import type { Query, TransformationAst } from '../../../src/query/ast.js'
import { bind } from '../../../src/query/bind/bind.js'
import { createCursorSeal } from '../../../src/query/cursor.js'
import { showQuery } from './format-syntax.js'

const context: ParseContext = { limits: DEFAULT_PARSE_LIMITS, aliases: new Map([['city', "'Vail'"]]) }
const LIMITS = { pageSize: 100, pageSizeMax: 1000, expandPageMax: 100, topIsTotal: false, expandDepth: 4 }

const parse = (text: string) => parseOption('$apply', text, context)
const plan = (options: string) =>
  bind(
    parseQuery(readQueryOptions(options.replaceAll(' ', '%20')), 'collection', DEFAULT_PARSE_LIMITS),
    getEntity('Property'),
    LIMITS,
  )

function problem(run: () => unknown): Problem {
  try {
    run()
  } catch (error) {
    if (error instanceof ProblemError) return error.problems[0]
    throw error
  }
  throw new Error('It was taken')
}

/** A step without positions, and its expressions as lines. */
const showStep = ({ kind, ...parts }: TransformationAst) =>
  kind === 'identity' ? kind : { kind, ...showQuery(parts as Query) } // it takes any parts

const count = { name: 'N' }
const of = (method: string, expr: string, name: string) => ({ of: { expr, method }, name })
const group = (by: readonly string[], ...aggregates: readonly object[]) => ({
  kind: 'group',
  by: by.map(path => ({ names: path.split('/') })),
  aggregates,
})

describe('parsed transformations', () => {
  test.each<[string, readonly unknown[]]>([
    ['identity', ['identity']],
    ["filter(City eq 'Vail')", [{ kind: 'filter', filter: "(eq City 'Vail')" }]],
    ['FILTER(City eq @city)/Identity', [{ kind: 'filter', filter: "(eq City 'Vail')" }, 'identity']],
    ['search(a OR "b c")', [{ kind: 'search', search: '(or "a" "b c")' }]],
    ['compute(A add 1 as B, B mul 2 as C)', [{ kind: 'compute', items: [{ expr: '(add A 1)', name: 'B' }, { expr: '(mul B 2)', name: 'C' }] }]], // biome-ignore format: one row
    ['orderby(A desc, B)', [{ kind: 'orderby', terms: [{ expr: 'A', descending: true }, { expr: 'B', descending: false }] }]], // biome-ignore format: one row
    [
      'skip( 2 )/top(3)',
      [
        { kind: 'skip', count: 2 },
        { kind: 'top', count: 3 },
      ],
    ],
    ['aggregate($count as N)', [group([], count)]],
    ['aggregate(A with Sum as S, $count as N)', [group([], of('sum', 'A', 'S'), count)]],
    ['aggregate(A mul B with average as S)', [group([], of('average', '(mul A B)', 'S'))]],
    [
      'aggregate(A/B with max as M,A/$count with min as M2)',
      [group([], of('max', 'A/B', 'M'), of('min', '(count A)', 'M2'))],
    ],
    ['groupby((A,B/C))', [group(['A', 'B/C'])]],
    ['groupby( ( A , B/C ) , aggregate( $count as N ) )', [group(['A', 'B/C'], count)]],
    ['groupby((rollup))', [group(['rollup'])]],
    [
      'groupby((A),aggregate($count as N))/filter(N gt 1)',
      [group(['A'], count), { kind: 'filter', filter: '(gt N 1)' }],
    ],
  ])('%s', (text, steps) => expect(parse(text).apply?.map(showStep)).toEqual(steps))

  test.each<[string, number]>([
    ['filter', 6],
    ['filter()', 7],
    ['filter (true)', 7],
    ['filter(true', 11],
    ['filter(true))', 12],
    ['filter(true)/', 13],
    ['filter(true)filter(true)', 12],
    ['filter(true) /identity', 13],
    ['frobnicate(A)', 0],
    ['identity()', 8],
    ['aggregate()', 10],
    ['aggregate($count)', 16],
    ['aggregate($count as )', 20],
    ['aggregate(A with sum)', 20],
    ['aggregate(A with medium as M)', 17],
    ['groupby((year(A)))', 13],
    ['groupby((A add 1))', 11],
    ['aggregate(A sum as S)', 12],
    ['aggregate($count as N,)', 22],
    ['groupby(A)', 8],
    ['groupby(())', 9],
    ['groupby((A)', 11],
    ['groupby((A),)', 12],
    ['groupby((A),aggregate($count as N)', 34],
    ['groupby((A/))', 11],
    ['groupby(($count))', 9],
    ['concat(identity)', 15],
    ['concat(identity,nothing)', 16],
    ['top(-1)', 4],
    ['top(1.5)', 4],
    ['top(x)', 4],
    ['compute(A add 1)', 15],
    ['topcount(2,A', 12],
    ['concat(identity,identity)/oops(1)', 26],
  ])('%s is refused at %i', (text, offset) =>
    expect(problem(() => parse(text))).toMatchObject({ kind: 'Syntax', at: { source: '$apply', offset } }),
  )

  test('limits apply', () => {
    expect(problem(() => parse(Array.from({ length: 200 }, () => 'identity').join('/'))).kind).toBe(
      'QueryTooComplex',
    )
    expect(
      problem(() => parse(`groupby((${Array.from({ length: 2001 }, (_, i) => `A${i}`).join(',')}))`)).kind,
    ).toBe('QueryTooComplex')
    expect(problem(() => parse('groupby((A),'.repeat(2000))).kind).toBe('QueryTooComplex')
  })
})

describe('well-formed text that is not implemented', () => {
  test.each([
    'concat(identity,aggregate($count as N))',
    'concat(groupby((City)),groupby((StandardStatus),aggregate($count as N)),identity)/top(1)',
    'groupby((rollup(City,StreetName)),aggregate($count as N))',
    'groupby((rollup($all,City)))',
    'groupby((rolluprecursive($root/X,Y,Z)))',
    'groupby((rolluprecursive($root/X,Y,Z)),aggregate($count as N))',
    'aggregate(ListPrice with median as M)',
    'aggregate(ListPrice with stdev as M)',
    'groupby(($all))',
    'groupby((City),filter(ListPrice gt 1)/aggregate($count as N))',
    'groupby((City),topcount(1,ListPrice))',
    'aggregate(ListPrice with org.example.median as M)',
    'aggregate(ListPrice with sum from City with average as M)',
    'aggregate(Forecast as F)',
    'aggregate(Forecast)',
    'aggregate(Media/$count as N)',
    'aggregate(Rooms/RoomLevel with max as M)',
    'topcount(2,ListPrice)',
    'org.example.Custom(ListPrice,City)',
    'join(Media as M)',
    'expand(Media,filter(true))',
    'groupby((City))/search(house)',
  ])('%s', text => expect(problem(() => plan(`$apply=${text}`)).kind).toBe('NotImplemented'))
})

describe('text without a meaning', () => {
  test.each<[string, Problem['kind']]>([
    ['$apply=groupby((Cty))', 'UnknownField'],
    ['$apply=groupby((ListAgent))', 'WrongType'],
    ['$apply=groupby((Media/MediaKey))', 'WrongType'],
    ['$apply=groupby((ConstructionMaterials))', 'WrongType'],
    ['$apply=groupby((City,City))', 'DuplicateItem'],
    ['$apply=groupby((ChangedByMemberKey))', 'NotReadable'],
    ['$apply=aggregate(ChangedByMemberKey with max as M)', 'NotReadable'],
    ['$apply=aggregate(City with sum as S)', 'NoOverload'],
    ['$apply=aggregate(ConstructionMaterials with countdistinct as S)', 'NoOverload'],
    ['$apply=aggregate(GeoLocation with max as S)', 'NoOverload'],
    ['$apply=aggregate(ListPrice with sum as ListPrice)', 'NameTaken'],
    ['$apply=aggregate($count as N,$count as N)', 'NameTaken'],
    ['$apply=groupby((ListAgent/MemberKey),aggregate($count as ListAgent))', 'NameTaken'],
    ['$apply=compute(1 as N)/aggregate($count as N)', 'NameTaken'],
    ['$apply=groupby((ListAgent/MemberKey))&$compute=1 as ListAgent', 'NameTaken'],
    [`$apply=aggregate($count as ${'N'.repeat(64)})`, 'QueryTooComplex'],
    [`$compute=1 as ${'N'.repeat(64)}`, 'QueryTooComplex'],
    ['$apply=filter(City)', 'WrongType'],
    // The fields no longer exist.
    ['$apply=groupby((City))&$filter=ListPrice gt 1', 'UnknownField'],
    ['$apply=groupby((City))/filter(ListPrice gt 1)', 'UnknownField'],
    ['$apply=groupby((City))&$orderby=ListPrice', 'UnknownField'],
    ['$apply=groupby((City))&$select=ListPrice', 'UnknownField'],
    ['$apply=groupby((City))&$expand=Media', 'UnknownField'],
    ['$apply=groupby((ListAgent/MemberKey))&$filter=ListAgent/MemberFullName eq null', 'UnknownField'],
    ["$apply=aggregate(ListPrice with sum as S)&$filter=S eq 'a'", 'NoOverload'],
  ])('%s: %s', (options, kind) => expect(problem(() => plan(options)).kind).toBe(kind))

  test('the size of computed values is limited', () => {
    const items = Array.from({ length: 30 }, (_, i) => `V${i} add V${i} as V${i + 1}`).join(',')
    expect(problem(() => plan(`$compute=ListPrice as V0,${items}`)).kind).toBe('QueryTooComplex')
    expect(problem(() => plan(`$apply=compute(ListPrice as V0,${items})`)).kind).toBe('QueryTooComplex')
  })
})

describe('plans', () => {
  test('transformations without groups and windows are part of the plan itself', () => {
    const bare = plan("$filter=City eq 'Vail'&$compute=ListPrice mul 2 as P&$orderby=P desc")
    const applied = plan(
      "$apply=filter(City eq 'Vail')/identity/compute(ListPrice mul 2 as P)/orderby(P desc)",
    )
    expect({ ...applied, filter: undefined }).toEqual({ ...bare, filter: undefined })
    expect(applied).not.toHaveProperty('from')
  })

  test('the order ends with terms that make records distinct', () => {
    const columns = (options: string) =>
      plan(options).orderBy.map(({ expr }) =>
        expr.kind === 'result' ? expr.name : expr.kind === 'column' ? expr.scalar.name : expr.kind,
      )
    expect(columns('$apply=groupby((City,StandardStatus),aggregate($count as N))&$orderby=N')).toEqual([
      'a0',
      'g0',
      'g1',
    ])
    expect(
      columns('$apply=groupby((City,StandardStatus),aggregate($count as N))&$orderby=StandardStatus,City,N'),
    ).toEqual(['g1', 'g0'])
    expect(columns('$apply=aggregate($count as N)')).toEqual(['a0'])
    expect(columns('$apply=orderby(City)/top(3)')).toEqual(['City', 'ListingKey'])
  })

  test('a page token belongs to its transformations', () => {
    const seal = createCursorSeal('some secret')
    const [one, other] = ['sum', 'max'].map(method =>
      plan(`$apply=groupby((City),aggregate(ListPrice with ${method} as P))`),
    )
    if (!one || !other) throw new Error('no plans')
    const token = seal(one).seal({ after: ['Vail'] })
    expect(seal(one).open(token, '$skiptoken')).toEqual({ after: ['Vail'] })
    expect(problem(() => seal(other).open(token, '$skiptoken')).kind).toBe('BadPageToken')
  })
})
