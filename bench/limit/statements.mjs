import { AGENT, MEDIA, NARROW, ROOMS } from '../data/tables.mjs'

// Statements of the limit server, written by hand. PostgreSQL builds the JSON, so that the server only passes
// it on.

const list = (names, of) => names.map(name => `${of}."${name}"`).join(',')
const narrow = list(NARROW, 'p')
const media = `(SELECT coalesce(json_agg(row_to_json(m)),'[]') FROM (SELECT ${list(MEDIA, 'n')} FROM "Media" n WHERE "ResourceRecordKey"=p."ListingKey" ORDER BY "Order" LIMIT 3) m) AS "Media"`
const rooms = `(SELECT coalesce(json_agg(row_to_json(r)),'[]') FROM (SELECT ${list(ROOMS, 'n')} FROM "Rooms" n WHERE "ListingKey"=p."ListingKey" ORDER BY "RoomKey") r) AS "Rooms"`
const agent = `(SELECT row_to_json(a) FROM (SELECT ${list(AGENT, 'n')} FROM "Member" n WHERE "MemberKey"=p."ListAgentKey") a) AS "ListAgent"`

const all = rows => `SELECT coalesce(json_agg(row_to_json(t)),'[]')::text AS json FROM (${rows}) t`
/**
 * One text per wide row, joined by the server, is 15 to 20 % faster than json_agg, which copies the rows once
 * more.
 */
const each = rows => `SELECT row_to_json(t)::text AS json FROM (${rows}) t`
/** Visibility of listings for readers with restrictions. The member is that of the service's token. */
const VISIBLE = {
  public: `(p."StandardStatus" IS DISTINCT FROM 'Incomplete' AND p."InternetEntireListingDisplayYN" IS DISTINCT FROM false)`,
  member: `(p."ListAgentKey"='M00001' OR p."ListOfficeKey" IN ('M00001','O0001') OR p."StandardStatus" IS DISTINCT FROM 'Incomplete')`,
}
const mediaOf = isVisible =>
  `SELECT ${list(MEDIA, 'n')} FROM "Media" n JOIN "Property" p ON p."ListingKey"=n."ResourceRecordKey" WHERE n."ResourceRecordKey"=ANY($1::text[]) AND ${isVisible} ORDER BY n."ResourceRecordKey",n."Order" LIMIT 500`
const near = (fields, isVisible = 'true') =>
  `SELECT ${fields} FROM "Property" p WHERE "City"=$1 AND "ListPrice">=$2 AND "ListPrice"<=$3 AND ${isVisible} ORDER BY "ListPrice" DESC,"ListingKey" DESC LIMIT 50`
const newest = 'ORDER BY "ModificationTimestamp" DESC,"ListingKey" DESC LIMIT'
/** On the sphere with the mean radius of the earth, as the service computes it. */
const meters =
  '2*6371008.8*asin(least(1,sqrt(power(sin(radians("Latitude"::float8-$1::float8)/2),2)+cos(radians("Latitude"::float8))*cos(radians($1::float8))*power(sin(radians("Longitude"::float8-$2::float8)/2),2))))'
const beyond = 'WHERE ("ModificationTimestamp","ListingKey")>($2,$3)'
const page =
  where => `SELECT json_agg(row_to_json(t))::text AS json, (array_agg(t."ModificationTimestamp"))[count(*)]::text AS time, (array_agg(t."ListingKey"))[count(*)] AS key
  FROM (SELECT ${narrow} FROM "Property" p ${where} ORDER BY "ModificationTimestamp","ListingKey" LIMIT $1) t`
const walk = where =>
  each(`SELECT p.* FROM "Property" p ${where} ORDER BY "ModificationTimestamp","ListingKey" LIMIT $1`)

const CREATED = ['ListingKey', 'ListAgentKey', 'ListOfficeKey', 'PropertyType', 'StreetNumber', 'StreetName', 'City', 'ContractStatus', 'MlsStatus', 'StandardStatus', 'ModificationTimestamp', 'OriginatingSystemName'] // biome-ignore format: one row

export const STATEMENTS = {
  'by-key': `SELECT row_to_json(p)::text AS json FROM "Property" p WHERE "ListingKey"=$1`,
  'list-50': all(near(narrow)),
  'list-50-wide': each(near('p.*')),
  'list-50-expand': all(near(`${narrow},${media},${rooms}`)),
  'gql-nested': all(near(`${narrow},${media},${rooms},${agent}`)),
  'list-200-status': all(`SELECT ${narrow} FROM "Property" p WHERE "StandardStatus"=$1 ${newest} 200`),
  // A year as a range, so that one index serves filter and order.
  'filter-functions':
    all(`SELECT ${narrow} FROM "Property" p WHERE "ModificationTimestamp">=make_timestamptz($1::int,1,1,0,0,0) AND "ModificationTimestamp"<make_timestamptz($1::int+1,1,1,0,0,0)
    AND position($2 in lower("StreetName"))>0 AND "ListPrice"*2-1000>$3 ${newest} 50`),
  'any-lambda': all(
    `SELECT ${narrow} FROM "Property" p WHERE "ConstructionMaterials"@>ARRAY[$1] ${newest} 50`,
  ),
  'count-only': `SELECT count(*)::text AS json FROM "Property" WHERE "City"=$1 AND "ListPrice">=$2`,
  'sorted-unindexed': each(
    'SELECT * FROM "Property" WHERE "StandardStatus"=$1 ORDER BY "LivingArea" DESC NULLS LAST,"ListingKey" DESC LIMIT 20',
  ),
  'map-box': all(
    `SELECT ${narrow} FROM "PropertySearch" s JOIN "Property" p USING ("ListingKey") WHERE s."Latitude" BETWEEN $1 AND $2 AND s."Longitude" BETWEEN $3 AND $4 ORDER BY p."ListingKey" LIMIT 500`,
  ),
  'address-contains': all(
    `SELECT ${narrow} FROM "PropertySearch" s JOIN "Property" p USING ("ListingKey") WHERE s."UnparsedAddress" LIKE '%' || $1 || '%' ${newest} 20`,
  ),
  'radius-by-distance': all(
    `SELECT ${narrow} FROM (SELECT *, ${meters} AS meters FROM "PropertySearch" WHERE "Latitude" BETWEEN $1::numeric - 0.05 AND $1::numeric + 0.05) s JOIN "Property" p USING ("ListingKey")
    WHERE meters <= 5000 AND p."StandardStatus"='Active' ORDER BY meters,p."ListingKey" LIMIT 20`,
  ),
  'search-sorted': all(
    `SELECT ${narrow} FROM "PropertySearch" s JOIN "Property" p USING ("ListingKey") WHERE s."Words" @@ plainto_tsquery('simple', $1) ORDER BY p."ListPrice" DESC NULLS LAST,p."ListingKey" DESC LIMIT 20`,
  ),
  'list-50-public': all(near(narrow, VISIBLE.public)),
  'list-50-member': all(near(narrow, VISIBLE.member)),
  'media-by-listings': all(mediaOf('true')),
  'media-by-listings-public': all(mediaOf(VISIBLE.public)),
  'media-by-listings-member': all(mediaOf(VISIBLE.member)),
  'walk-public': walk(`WHERE ${VISIBLE.public}`),
  'walk-public-after': walk(`${beyond} AND ${VISIBLE.public}`),
  'walk-member': walk(`WHERE ${VISIBLE.member}`),
  'walk-member-after': walk(`${beyond} AND ${VISIBLE.member}`),
  page: page(''),
  'page-after': page(beyond),
  walk: walk(''),
  'walk-after': walk(beyond),
  create: `INSERT INTO "Property" (${CREATED.map(name => `"${name}"`).join(',')}) SELECT $1,m."MemberKey",o."MemberKey",$4,$5,$6,$7,'Draft','Draft','Incomplete',now(),'BENCH'
    FROM "Member" m, "Member" o WHERE m."MemberKey"=$2 AND o."MemberKey"=$3 RETURNING json_build_object(${CREATED.map(name => `'${name}',"${name}"`).join(',')})::text AS json`,
  delete: `DELETE FROM "Property" WHERE "ListingKey"=$1`,
}

/**
 * Updates fields of a listing if the member of ChangedByMemberKey exists. This is the only check of the limit
 * server.
 */
export const updateOf = fields =>
  `UPDATE "Property" SET ${fields.map((name, i) => `"${name}"=$${i + 2}`).join(',')},"ModificationTimestamp"=now() WHERE "ListingKey"=$1 AND EXISTS (SELECT 1 FROM "Member" WHERE "MemberKey"=$${fields.indexOf('ChangedByMemberKey') + 2})`
