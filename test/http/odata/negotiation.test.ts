import { describe, expect, test } from 'vitest'
import { matchesETag, readEntityTags } from '../../../src/http/etag.js'
import {
  checkAcceptsText,
  negotiateJsonFormat,
  negotiateMetadataFormat,
} from '../../../src/odata/protocol/negotiate.js'
import { readPreferences } from '../../../src/odata/protocol/prefer.js'
import { checkVersions, negotiateVersion } from '../../../src/odata/protocol/version.js'

const kindOf = <T>(work: () => T): T | string => {
  try {
    return work()
  } catch (error) {
    return String(error instanceof Error ? error.message : error)
  }
}

const POWER_QUERY =
  'application/json;odata.metadata=minimal;q=1.0,application/json;odata=minimalmetadata;q=0.9,application/atomsvc+xml;q=0.8,application/atom+xml;q=0.8,application/xml;q=0.7,text/plain;q=0.7'
const AXIOS = 'application/json, text/plain, */*'
const DEVEXTREME = 'application/json;odata=verbose,text/plain, */*; q=0.01'
const SYNCFUSION = 'application/json, text/javascript, */*; q=0.01'
const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'

describe('Accept of a data request', () => {
  // biome-ignore format: table
  test.each([
    [undefined,                                            'minimal'],
    ['',                                                   'minimal'],
    ['*/*',                                                'minimal'],
    ['application/*',                                      'minimal'],
    ['application/json',                                   'minimal'],
    ['APPLICATION/JSON',                                   'minimal'],
    [POWER_QUERY,                                          'minimal'],
    [AXIOS,                                                'minimal'],
    [DEVEXTREME,                                           'minimal'],
    [SYNCFUSION,                                           'minimal'],
    [BROWSER,                                              'minimal'],
    ['application/json;odata.metadata=full',               'full'],
    ['application/json;odata.metadata=none',               'none'],
    ['application/json;metadata=none',                     'none'],
    ['application/json; odata.metadata = "none"',          'none'],
    ['application/json;q=0.1, application/json;odata.metadata=none;q=0.2', 'none'],
    ['application/json;odata.streaming=true',              'minimal'],
    ['application/json;odata.nosuch=1, */*',               'minimal'],
    ['application/json;odata.nosuch=1',                    'NotAcceptable'],
    ['application/json;odata.metadata=some',               'NotAcceptable'],
    ['application/json;q=0',                               'NotAcceptable'],
    ['application/json;q=0, */*',                          'NotAcceptable'],
    ['application/xml',                                    'NotAcceptable'],
    ['text/html, image/png',                               'NotAcceptable'],
    ['"',                                                  'NotAcceptable'],
  ])('%s: %s', (accept, expected) => {
    expect(kindOf(() => negotiateJsonFormat({ accept, format: undefined }).metadata)).toBe(expected)
  })

  // biome-ignore format: table
  test.each([
    ['json',                               'application/json;odata.metadata=minimal'],
    ['JSON',                               'application/json;odata.metadata=minimal'],
    ['application/json;odata.metadata=none', 'application/json;odata.metadata=none'],
    ['application/json;IEEE754Compatible=true', 'application/json;odata.metadata=minimal;IEEE754Compatible=true'],
    ['application/json;charset=utf-8',     'application/json;odata.metadata=minimal;charset=utf-8'],
    ['xml',                                'NotAcceptable'],
    ['atom',                               'NotAcceptable'],
    ['nonsense',                           'NotAcceptable'],
  ])('$format=%s overrides it: %s', (format, expected) => {
    expect(kindOf(() => negotiateJsonFormat({ accept: 'text/html', format }).contentType)).toBe(expected)
  })

  test('the cost of a header is linear in its length', () => {
    // A megabyte takes a tenth of a second. Quadratic time would take hours and exceed any timeout.
    const started = performance.now()
    readOddHeaders(1_000_000)
    expect(performance.now() - started).toBeLessThan(60_000)
  }, 120_000)
})

/** Headers that could cause backtracking at every character. */
function readOddHeaders(size: number): void {
  for (const piece of [',"', 'a/b;', '"\\', ' ', 'W/"5" ']) {
    const text = `return=${piece.repeat(Math.ceil(size / piece.length))}"x"y`
    kindOf(() => negotiateJsonFormat({ accept: text, format: undefined }))
    readPreferences(text)
    kindOf(() => readEntityTags('If-Match', text))
  }
}

describe('the format of $metadata', () => {
  // biome-ignore format: table
  test.each([
    [undefined,                            undefined,          'xml'],
    ['*/*',                                undefined,          'xml'],
    [AXIOS,                                undefined,          'xml'],
    [POWER_QUERY,                          undefined,          'xml'],
    ['application/json, application/xml;q=0.1', undefined,     'xml'],
    ['application/json',                   undefined,          'json'],
    ['application/json;odata.metadata=minimal', undefined,     'json'],
    ['application/json, text/plain',       undefined,          'json'],
    ['application/xml;q=0, */*',           undefined,          'json'],
    ['application/xml',                    'json',             'json'],
    ['application/json',                   'xml',              'xml'],
    ['application/json',                   'application/xml',  'xml'],
    ['image/png',                          undefined,          'NotAcceptable'],
    [undefined,                            'atom',             'NotAcceptable'],
  ])('%s and $format=%s: %s', (accept, format, expected) => {
    expect(kindOf(() => negotiateMetadataFormat({ accept, format }))).toBe(expected)
  })
})

describe('plain text', () => {
  test.each([[undefined], ['text/plain'], ['*/*'], ['application/json'], [DEVEXTREME]])(
    'is sent for Accept: %s',
    accept => {
      expect(kindOf(() => checkAcceptsText({ accept, format: undefined }))).toBeUndefined()
    },
  )
  test('is not sent to a client that accepts only images', () => {
    expect(kindOf(() => checkAcceptsText({ accept: 'image/png', format: undefined }))).toBe('NotAcceptable')
  })
})

describe('Prefer', () => {
  // biome-ignore format: table
  test.each([
    ['return=minimal',                                  { return: 'minimal' }],
    ['Return="representation"; foo=1',                  { return: 'representation' }],
    ['return=minimal, return=representation',           { return: 'minimal' }],
    ['return=everything',                               {}],
    ['odata.maxpagesize=5',                             { maxPageSize: { size: 5, name: 'odata.maxpagesize' } }],
    ['maxpagesize=7, odata.allow-entityreferences, respond-async', { maxPageSize: { size: 7, name: 'maxpagesize' } }],
    ['odata.track-changes',                             { trackChanges: { applied: 'odata.track-changes' } }],
    ['track-changes=no',                                {}],
    ['maxpagesize=0',                                   {}],
    ['maxpagesize=-1',                                  {}],
    ['maxpagesize=1e3',                                 {}],
    ['maxpagesize',                                     {}],
    ['odata.include-annotations="*,return=minimal"',    {}],
    ['',                                                {}],
  ])('%s', (header, expected) => {
    expect(readPreferences(header)).toEqual(expected)
  })
})

describe('versions', () => {
  // biome-ignore format: table
  test.each([
    [{},                              '4.01', undefined],
    [{ 'odata-maxversion': '4.0' },   '4.0',  undefined],
    [{ 'odata-maxversion': '4.01' },  '4.01', undefined],
    [{ 'odata-maxversion': '5.0' },   '4.01', undefined],
    [{ 'odata-maxversion': '3.0' },   '4.01', 'BadHeader'],
    [{ 'odata-maxversion': 'abc' },   '4.01', 'BadHeader'],
    [{ 'odata-maxversion': '' },      '4.01', 'BadHeader'],
    [{ 'odata-version': '4.0' },      '4.01', undefined],
    [{ 'odata-version': '4.02' },     '4.01', 'BadHeader'],
    [{ 'odata-version': '3.0', 'odata-maxversion': '4.0' }, '4.0', 'BadHeader'],
  ])('%o: %s, %s', (headers, version, problem) => {
    expect(negotiateVersion(headers)).toBe(version)
    expect(kindOf(() => checkVersions(headers))).toBe(problem)
  })
})

describe('entity tags', () => {
  // biome-ignore format: table
  test.each([
    ['*',                    '*'],
    [' * ',                  '*'],
    ['W/"5"',                ['5']],
    ['"5"',                  ['5']],
    ['"5", W/"6" ,"a,b"',    ['5', '6', 'a,b']],
    ['5',                    'BadHeader'],
    ['W/"5',                 'BadHeader'],
    ['"5" "6"',              'BadHeader'],
    ['"5",*',                'BadHeader'],
    ['',                     'BadHeader'],
  ])('%s', (text, expected) => {
    expect(kindOf(() => readEntityTags('If-Match', text))).toEqual(expected)
  })

  test('match a version or any', () => {
    expect([
      matchesETag('*', null),
      matchesETag('*', '5'),
      matchesETag(['5'], '5'),
      matchesETag(['5'], '6'),
      matchesETag(['5'], null),
    ]).toEqual([true, true, true, false, false])
  })
})
