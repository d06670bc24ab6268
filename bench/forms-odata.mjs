import { MEDIA, NARROW, ROOMS } from './data/tables.mjs'

const JSON_BODY = { 'Content-Type': 'application/json' }
const READABLE = { '%2C': ',', '%24': '$', '%2F': '/', '%3A': ':', '%3D': '=', '%3B': ';' }
const encode = text => encodeURIComponent(text).replaceAll(/%(?:2C|24|2F|3A|3D|3B)/g, sign => READABLE[sign])

const NEWEST = 'ModificationTimestamp desc,ListingKey desc'
const OLDEST = 'ModificationTimestamp,ListingKey'
const withoutHost = link => link.replace(/^https?:\/\/[^/]+/, '')

/** `{L1,L2}` → `'L1','L2'` */
const quoteKeys = keys =>
  keys
    .slice(1, -1)
    .split(',')
    .map(key => `'${key}'`)
    .join()

/**
 * Requests of all workloads in OData below a service root. `own` contains requests that a server needs in
 * another form.
 */
export function toODataForms(root, own = {}) {
  const get = options => ({
    path: `${root}/Property?${Object.entries(options)
      .map(([name, value]) => `${name}=${encode(String(value))}`)
      .join('&')}`,
  })
  const write = (method, key, body) => ({
    method,
    path: `${root}/Property${key ? `('${encodeURIComponent(key)}')` : ''}`,
    headers: { ...(body && JSON_BODY), ...(method === 'PATCH' && { Prefer: 'return=minimal' }) },
    ...(body && { body: JSON.stringify(body) }),
  })
  const $select = NARROW.join(',')
  const near = ({ city, low, high }) => ({
    $filter: `City eq '${city}' and ListPrice ge ${low} and ListPrice le ${high}`,
    $orderby: 'ListPrice desc,ListingKey desc',
    $top: 50,
  })
  const first = ({ size }) => get({ $orderby: OLDEST, $top: size, $select })
  const next = answer => answer['@odata.nextLink'] && { path: withoutHost(answer['@odata.nextLink']) }
  const patch = ({ key, price, member }) =>
    write('PATCH', key, { ListPrice: price, ChangedByMemberKey: member })
  return {
    'by-key': ({ key }) => ({ path: `${root}/Property('${key}')` }),
    'list-50': values => get({ ...near(values), $select }),
    'list-50-wide': values => get(near(values)),
    'list-50-expand': values =>
      get({
        ...near(values),
        $select,
        $expand: `Media($select=${MEDIA};$orderby=Order;$top=3),Rooms($select=${ROOMS};$orderby=RoomKey)`,
      }),
    'list-200-status': ({ status }) =>
      get({ $filter: `StandardStatus eq '${status}'`, $orderby: NEWEST, $top: 200, $select }),
    'filter-functions': ({ year, word, above }) =>
      get({
        $filter: `year(ModificationTimestamp) eq ${year} and contains(tolower(StreetName),'${word}') and ListPrice mul 2 sub 1000 gt ${above}`,
        $orderby: NEWEST,
        $top: 50,
        $select,
      }),
    'any-lambda': ({ material }) =>
      get({
        $filter: `ConstructionMaterials/any(m:m eq '${material}')`,
        $orderby: NEWEST,
        $top: 50,
        $select,
      }),
    'count-only': ({ city, low }) =>
      get({ $filter: `City eq '${city}' and ListPrice ge ${low}`, $count: true, $top: 0 }),
    'sorted-unindexed': ({ status }) =>
      get({
        $filter: `StandardStatus eq '${status}'`,
        $orderby: 'LivingArea desc,ListingKey desc',
        $top: 20,
      }),
    'replication-clause': ({ time, key, size }) =>
      get({
        $filter: `ModificationTimestamp gt ${time} or (ModificationTimestamp eq ${time} and ListingKey gt '${key}')`,
        $orderby: OLDEST,
        $top: size,
        $select,
      }),
    'map-box': ({ south, north, west, east }) =>
      get({
        $filter: `Latitude ge ${south} and Latitude le ${north} and Longitude ge ${west} and Longitude le ${east}`,
        $orderby: 'ListingKey',
        $top: 500,
        $select,
      }),
    'address-contains': ({ part }) =>
      get({ $filter: `contains(UnparsedAddress,'${part}')`, $orderby: NEWEST, $top: 20, $select }),
    'media-by-listings': ({ keys }) => ({
      path: `${root}/Media?$filter=${encode(`ResourceRecordKey in (${quoteKeys(keys)})`)}&$orderby=ResourceRecordKey,Order&$top=500&$select=${MEDIA}`,
    }),
    'page-1': first,
    'page-1000': (values, read) => follow(first(values), next, values.page, read),
    walk: {
      first: ({ size }) => get({ $orderby: OLDEST, $top: size }),
      next: ({ link }) => link && { path: withoutHost(link) },
    },
    'patch-single': patch,
    'patch-concurrent': patch,
    cycle: {
      create: ({ member, city }) =>
        write('POST', undefined, {
          ListAgentKey: member,
          ListOfficeKey: member,
          PropertyType: 'Residential',
          StreetNumber: '12',
          StreetName: 'Bench Road',
          City: city,
        }),
      keyOf: answer => answer.ListingKey,
      steps: (key, { member }) => [
        write('PATCH', key, { StandardStatus: 'Active', ChangedByMemberKey: member }),
        write('PATCH', key, { StandardStatus: 'Sold', SoldPrice: 400000, ChangedByMemberKey: member }),
        write('DELETE', key),
      ],
    },
    ...own,
  }
}

/** Returns the request for a page that can be reached only by following next links. */
export async function follow(first, next, page, read) {
  let request = first
  for (let i = 1; i < page; i++) request = next(await read(request))
  return request
}

/** Replaces arithmetic by its result, for servers that do not support it. The records are the same. */
export const withConstant = form => values => {
  const request = form(values)
  return {
    ...request,
    path: request.path.replace(
      /ListPrice%20mul%202%20sub%201000%20gt%20(\d+)/,
      (_, above) => `ListPrice%20gt%20${(Number(above) + 1000) / 2}`,
    ),
  }
}
