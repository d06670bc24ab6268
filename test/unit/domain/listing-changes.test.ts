import { describe, expect, it } from 'vitest'
import type { Actor } from '../../../src/domain/actor.js'
import type { JsonObject } from '../../../src/domain/json.js'
import { type Listing, NO_LISTING } from '../../../src/domain/listing.js'
import { readListingChanges, sortFaults, type WriteMode } from '../../../src/domain/listing-changes.js'
import { refusalsOf, toWritePlan } from '../../../src/domain/write-plan.js'
import { shapeOf, toParameters } from '../../../src/domain/write-shape.js'
import { toFailure } from '../../../src/errors/catalog.js'
import type { Problem } from '../../../src/errors/problem.js'
import { parseJson } from '../../../src/http/parse-json.js'
import { type Expr, FALSE, TRUE } from '../../../src/query/plan.js'

const ANYONE: Actor = { scopes: new Set(['listings:write:any']), audience: 'staff' }
const MEMBER: Actor = { scopes: new Set(['listings:write']), memberKey: 'M1', audience: 'member' }
const RECORDS = { members: new Map([['M1', null], ['M2', null]]), offices: new Set(['O1']) } // biome-ignore format: one row
const ROOFS = new Set(['Tile', 'Slate'])

// The texts of these tests are objects.
const bodyOf = (text: unknown) =>
  parseJson(typeof text === 'string' ? text : JSON.stringify(text)) as JsonObject
const read = (
  body: unknown,
  mode: WriteMode = 'change',
  actor = ANYONE,
  lookupValues: (name: string) => ReadonlySet<string> | undefined = () => undefined,
  readableIf: () => Expr = () => TRUE,
) => readListingChanges(bodyOf(body), mode, { actor, lookupValues, readableIf })

const show = (problems: readonly Problem[]) => {
  const [first, ...others] = problems
  return first ? toFailure([first, ...others]).details.map(d => `${d.code} ${d.target}`) : []
}
const faults = (body: unknown, mode?: WriteMode, actor?: Actor) =>
  show(sortFaults(read(body, mode, actor).faults, bodyOf(body)))

const VALID = {
  ListAgentKey: 'M1',
  ListOfficeKey: 'O1',
  PropertyType: 'Residential',
  StreetNumber: '1',
  StreetName: 'Main',
  City: 'Vail',
}
const BY = { ChangedByMemberKey: 'M1' }

describe('all faults of a body are reported together, in its order', () => {
  it.each<[string, WriteMode, unknown, readonly string[]]>([
    [
      'nothing',
      'create',
      {},
      [
        '1101 PropertyType',
        '1101 StreetNumber',
        '1101 StreetName',
        '1101 City',
        '1101 ListAgentKey',
        '1101 ListOfficeKey',
      ],
    ],
    [
      'WRT-06',
      'create',
      { City: 5, StreetName: '', PropertyType: '   ' },
      [
        '1103 City',
        '1101 StreetName',
        '1101 PropertyType',
        '1101 StreetNumber',
        '1101 ListAgentKey',
        '1101 ListOfficeKey',
      ],
    ],
    ['WRT-04 create', 'create', { ...VALID, Citty: 'x' }, ['1102 Citty']],
    ['WRT-04 change', 'change', { listprice: 5, ...BY }, ['1102 listprice']],
    ['WRT-02', 'change', { City: null, ...BY }, ['1101 City']],
    ['ERR-01 word', 'change', { StandardStatus: 'Banana', ...BY }, ['1105 StandardStatus']],
    ['ERR-01 case', 'change', { StandardStatus: 'active', ...BY }, ['1105 StandardStatus']],
    ['ERR-01 blank', 'change', { StandardStatus: '', ...BY }, ['1105 StandardStatus']],
    ['ERR-01 number', 'change', { StandardStatus: 5, ...BY }, ['1105 StandardStatus']],
    ['no status', 'change', { StandardStatus: null, ...BY }, ['1105 StandardStatus']],
    [
      'a status like a member of Object',
      'change',
      { StandardStatus: 'constructor', ...BY },
      ['1105 StandardStatus'],
    ],
    ['WRT-05', 'create', { ...VALID, StandardStatus: 'Active' }, ['1108 StandardStatus']],
    ['create with a word', 'create', { ...VALID, StandardStatus: 'Banana' }, ['1105 StandardStatus']],
    ['navigation', 'change', { Media: [], ...BY }, ['1106 Media']],
    [
      'bind 4.0',
      'change',
      '{"ListAgent@odata.bind":"Member(\'M1\')","ChangedByMemberKey":"M1"}',
      ['1106 ListAgent'],
    ],
    [
      'bind 4.01',
      'change',
      '{"ListAgent@bind":"Member(\'M1\')","ChangedByMemberKey":"M1"}',
      ['1106 ListAgent'],
    ],
    ['hidden column', 'change', { RecordVersion: 1, ...BY }, ['1102 RecordVersion']],
    ['nobody changed it', 'change', { ListPrice: 1 }, ['1101 ChangedByMemberKey']],
    ['null changed it', 'change', { ListPrice: 1, ChangedByMemberKey: null }, ['1101 ChangedByMemberKey']],
    ['a number changed it', 'change', { ChangedByMemberKey: 5 }, ['1103 ChangedByMemberKey']],
    ['negative price', 'create', { ...VALID, ListPrice: -1 }, ['1104 ListPrice']],
    [
      'replace',
      'replace',
      { City: 'Vail', ...BY },
      [
        '1101 PropertyType',
        '1101 StreetNumber',
        '1101 StreetName',
        '1101 ListAgentKey',
        '1101 ListOfficeKey',
      ],
    ],
    ['order', 'change', '{"Nope":1,"City":null,"ListPrice":"x","StandardStatus":"y","Roof":5}', ['1102 Nope', '1101 City', '1103 ListPrice', '1105 StandardStatus', '1103 Roof', '1101 ChangedByMemberKey']], // biome-ignore format: one row
    ['__proto__', 'change', '{"__proto__":1,"ChangedByMemberKey":"M1"}', ['1102 __proto__']],
  ])('%s (%s)', (_, mode, body, expected) => expect(faults(body, mode)).toEqual(expected))

  it('suggests the field with a similar name', () =>
    expect(read({ listprice: 5, ...BY }).faults[0]?.problem).toEqual({
      kind: 'UnknownBodyField',
      entity: 'Property',
      field: 'listprice',
      suggestion: 'ListPrice',
    }))

  it('reports a limited number of faults', () => {
    const garbage = Object.fromEntries(Array.from({ length: 1_900 }, (_, i) => [`Nonsense${i}`, i]))
    expect(read({ ...BY, ...garbage }).faults.length).toBe(200)
  })
})

describe('accepted values', () => {
  it('ignores fields that the service sets, and control information', () => {
    const body = {
      ...BY, ListingKey: 'mine', ModificationTimestamp: 5, MlsStatus: 'X', ContractStatus: 'Available', OriginatingSystemName: 'evil', RecordVersion_: undefined,
      '@odata.etag': 'W/"1"', '@odata.id': 'x', '@odata.type': '#x', '@context': 'x', 'City@odata.type': '#String', 'SoldPrice@Core.Permissions': 'None', City: 'Waco',
    } // biome-ignore format: one body
    expect(read(body)).toEqual({
      values: { City: 'Waco', ChangedByMemberKey: 'M1' },
      faults: [],
      clears: new Map(),
    })
  })

  it('null clears a field, and makes a list empty', () =>
    expect(read({ ListPrice: null, Roof: null, ...BY }).values).toEqual({
      ListPrice: null,
      Roof: [],
      ChangedByMemberKey: 'M1',
    }))

  it('StandardStatus is separate from the values', () =>
    expect(read({ StandardStatus: 'Active', ...BY })).toMatchObject({
      status: 'Active',
      values: { ChangedByMemberKey: 'M1' },
    }))

  it.each([null, 'Incomplete'])('a new record may have the status %s', StandardStatus =>
    expect(read({ ...VALID, StandardStatus }, 'create')).toEqual({
      values: VALID,
      faults: [],
      clears: new Map(),
    }),
  )

  it('PUT clears fields that the body omits, but not the status', () => {
    const { values, faults, status } = read({ ...VALID, ...BY, ListPrice: 5 }, 'replace')
    expect({ faults, status }).toEqual({ faults: [], status: undefined })
    expect(values).toMatchObject({
      ...VALID,
      ListPrice: '5',
      SoldPrice: null,
      Latitude: null,
      Longitude: null,
      Roof: [],
      ChangedByMemberKey: 'M1',
    })
    for (const field of ['StandardStatus', 'GeoLocation', 'ListingKey', 'MlsStatus', 'ModificationTimestamp'])
      expect(values).not.toHaveProperty(field)
  })

  it('PUT does not change fields that the token cannot read', () => {
    const never = read({ ...VALID, ...BY, ListPrice: 5 }, 'replace', ANYONE, undefined, () => FALSE)
    expect([never.values, never.faults, never.clears.size]).toEqual([
      { ...VALID, ...BY, ListPrice: '5' },
      [],
      0,
    ])
    const sometimes: Expr = { kind: 'call', fn: 'not', args: [TRUE], type: 'Boolean' }
    const { values, clears } = read({ ...VALID, ...BY }, 'replace', ANYONE, undefined, () => sometimes)
    expect(values).toEqual({ ...VALID, ...BY })
    expect([clears.get('ListPrice'), clears.get('Roof'), clears.get('City')]).toEqual([
      sometimes,
      sometimes,
      undefined,
    ])
  })

  it('lookup fields accept only known values if the values are given', () => {
    const lookup = (name: string) => (name === 'Roof' ? ROOFS : undefined)
    expect(
      read({ Roof: ['Tile', 'Straw'], PropertyType: 'Castle', ...BY }, 'change', ANYONE, lookup).faults.map(
        f => f.problem,
      ),
    ).toEqual([{ kind: 'NotInLookup', field: 'Roof', value: 'Straw' }])
    expect(read({ Roof: ['Tile'], ...BY }, 'change', ANYONE, lookup).faults).toEqual([])
  })
})

describe('the position', () => {
  const point = (...coordinates: readonly unknown[]) => ({ type: 'Point', coordinates })
  const crs = (name: string) => ({ crs: { type: 'name', properties: { name } } })

  it.each<[unknown, unknown]>([
    [point(-97.5, 30.25), { Longitude: '-97.5', Latitude: '30.25' }],
    [
      { ...point(-97.5, 30.25), ...crs('EPSG:4326') },
      { Longitude: '-97.5', Latitude: '30.25' },
    ],
    [
      { ...point('-97.5', '30.25'), crs: null },
      { Longitude: '-97.5', Latitude: '30.25' },
    ],
    [null, { Longitude: null, Latitude: null }],
  ])('%j', (GeoLocation, expected) =>
    expect(read({ GeoLocation, ...BY })).toEqual({
      values: { ...BY, ...(expected as object) },
      faults: [],
      clears: new Map(),
    }),
  )

  it.each<[unknown, string]>([
    [{ ...point(1, 2), ...crs('EPSG:3857') }, '1103 GeoLocation'],
    [point(1), '1103 GeoLocation'],
    [point(1, 2, 3), '1103 GeoLocation'],
    [point(1, null), '1103 GeoLocation'],
    [{ type: 'LineString', coordinates: [1, 2] }, '1103 GeoLocation'],
    ['POINT(1 2)', '1103 GeoLocation'],
    [[1, 2], '1103 GeoLocation'],
    [{ type: 'Point' }, '1103 GeoLocation'],
    [point(181, 2), '1104 GeoLocation'],
    [point(1, -91), '1104 GeoLocation'],
    [point(1.123456789, 2), '1104 GeoLocation'],
  ])('%j is refused', (GeoLocation, expected) => expect(faults({ GeoLocation, ...BY })).toEqual([expected]))

  it('may occur in two fields if both agree', () => {
    expect(faults({ Latitude: 30.25, GeoLocation: point(-97.5, 30.25), Longitude: '-97.50', ...BY })).toEqual(
      [],
    )
    expect(faults({ GeoLocation: null, Latitude: null, ...BY })).toEqual([])
    expect(faults({ Latitude: 30.3, GeoLocation: point(-97.5, 30.25), ...BY })).toEqual(['1103 GeoLocation'])
    expect(faults({ GeoLocation: null, Longitude: 5, ...BY })).toEqual(['1103 GeoLocation'])
    expect(faults({ GeoLocation: point(-97.5, 30.25), Longitude: null, ...BY })).toEqual(['1103 GeoLocation'])
    expect(faults({ GeoLocation: point(-97.5, 30.25), Longitude: 'x', ...BY })).toEqual(['1103 Longitude'])
  })

  it('PUT keeps the coordinates of the point', () =>
    expect(read({ ...VALID, ...BY, GeoLocation: point(1, 2) }, 'replace').values).toMatchObject({
      Longitude: '1',
      Latitude: '2',
    }))
})

describe('the author of a change', () => {
  it('is the member of the token if the body omits it', () => {
    expect(read({ City: 'X' }, 'change', MEMBER)).toEqual({
      values: { City: 'X', ChangedByMemberKey: 'M1' },
      faults: [],
      clears: new Map(),
    })
    expect(read({ ChangedByMemberKey: null }, 'change', MEMBER).values).toEqual({ ChangedByMemberKey: 'M1' })
    expect(read(VALID, 'create', MEMBER).values).toEqual({ ...VALID, ChangedByMemberKey: 'M1' })
  })
  it('must be the member of the token', () => {
    expect(faults({ ChangedByMemberKey: 'M2' }, 'change', MEMBER)).toEqual(['1103 ChangedByMemberKey'])
    expect(
      faults({ ChangedByMemberKey: 'M2' }, 'change', { ...MEMBER, scopes: new Set(['listings:write:any']) }),
    ).toEqual([])
  })
})

describe('faults that depend on the stored record', () => {
  const judged = (body: unknown, stored: Partial<Listing>, mode: WriteMode = 'change', actor = ANYONE) =>
    show(refusals(body, stored, mode, actor))
  const refusals = (body: unknown, stored: Partial<Listing>, mode: WriteMode, actor: Actor) => {
    const request = { mode, actor, changes: read(body, mode, actor), precondition: {}, body: bodyOf(body) }
    const facts = { ...RECORDS, stored: { ...NO_LISTING, ListAgentKey: 'M1', ...stored, RecordVersion: '1' } }
    return refusalsOf(
      toWritePlan(shapeOf(request)),
      request,
      'K',
      toParameters(request, 'K', new Date()),
      facts,
    )
  }

  it('references, beside all other faults, but one kind for each field', () => {
    expect(
      judged(
        {
          ...VALID,
          ListAgentKey: 'nobody',
          City: 5,
          ListOfficeKey: '',
          CoListAgentKey: 'O1',
          BuyerOfficeKey: 'M2',
          BuyerAgentKey: '',
        },
        {},
        'create',
      ),
    ).toEqual([
      '1107 ListAgentKey',
      '1101 ListOfficeKey',
      '1103 City',
      '1107 CoListAgentKey',
      '1107 BuyerAgentKey',
    ])
    expect(judged({ ListAgentKey: 5, ChangedByMemberKey: 'NOPE' }, {})).toEqual([
      '1103 ListAgentKey',
      '1107 ChangedByMemberKey',
    ])
    expect(judged({ ChangedByMemberKey: 'NOPE' }, {}, 'change', MEMBER)).toEqual(['1103 ChangedByMemberKey'])
    expect(judged({ ...BY, ListOfficeKey: 'M2', CoListOfficeKey: 'O1', BuyerAgentKey: null }, {})).toEqual([])
  })

  it('transitions, beside other faults', () => {
    expect(
      judged({ ListPrice: 'x', StandardStatus: 'Active', ListAgentKey: 'NOPE' }, { StandardStatus: 'Sold' }),
    ).toEqual(['1103 ListPrice', '1108 StandardStatus', '1107 ListAgentKey', '1101 ChangedByMemberKey'])
    expect(judged({ ...BY, StandardStatus: 'Active' }, { StandardStatus: null })).toEqual([])
    expect(judged({ ...BY, StandardStatus: 'Sold', SoldPrice: 1 }, { StandardStatus: 'Incomplete' })).toEqual(
      ['1108 StandardStatus'],
    )
  })

  it.each<[object, Partial<Listing>, readonly string[]]>([
    [{ StandardStatus: 'Sold' }, { StandardStatus: 'Active' }, ['1101 SoldPrice']],
    [{ StandardStatus: 'Sold' }, { StandardStatus: 'Active', SoldPrice: '5' }, []],
    [{ StandardStatus: 'Sold' }, { StandardStatus: 'Active', SoldPrice: '0' }, ['1104 SoldPrice']],
    [{ StandardStatus: 'Sold', SoldPrice: 5 }, { StandardStatus: 'Active' }, []],
    [
      { StandardStatus: 'Sold', SoldPrice: null },
      { StandardStatus: 'Active', SoldPrice: '5' },
      ['1101 SoldPrice'],
    ],
    [{ StandardStatus: 'Sold', SoldPrice: 0 }, { StandardStatus: 'Active' }, ['1104 SoldPrice']],
    [{ StandardStatus: 'Sold', SoldPrice: -5 }, { StandardStatus: 'Active' }, ['1104 SoldPrice']],
    [{ StandardStatus: 'Sold', SoldPrice: 'x' }, { StandardStatus: 'Active' }, ['1103 SoldPrice']],
    [{ SoldPrice: null }, { StandardStatus: 'Sold', SoldPrice: '5' }, ['1101 SoldPrice']],
    [{ SoldPrice: 6, StandardStatus: 'Sold' }, { StandardStatus: 'Sold', SoldPrice: '5' }, []],
    [{ City: 'X' }, { StandardStatus: 'Sold' }, []],
    [{ SoldPrice: null }, { StandardStatus: 'Active', SoldPrice: '5' }, []],
  ])('a sale has its price: %j in %j', (body, stored, expected) =>
    expect(judged({ ...body, ...BY }, stored)).toEqual(expected),
  )
})
