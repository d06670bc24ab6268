-- Fills an empty database with 200,000 listings, and with the offices, members, media, rooms and open houses around them. Triggers are off: the statements
-- set what triggers would set. Documents are all the same text, of the usual size. The same numbers are drawn in every run.
SET session_replication_role = replica;
SET synchronous_commit = off;
SET work_mem = '128MB';
SET max_parallel_workers_per_gather = 0;
SELECT setseed(0.25);

INSERT INTO "Office" ("OfficeKey", "OfficeMlsId", "OfficeName", "ModificationTimestamp")
SELECT 'O' || lpad(n::text, 4, '0'), 'OM' || n,
  CASE WHEN n = 77 THEN 'North' ELSE (ARRAY['Harbor','Summit','Heritage','Redwood','Prairie','Union'])[1 + n % 6] || ' ' || (ARRAY['Realty','Homes','Properties','Brokers','Residential'])[1 + n / 6 % 5] || ' ' || n END,
  timestamptz '2024-01-01Z' + n * interval '1 hour'
FROM generate_series(1, 500) n;

INSERT INTO "Member" ("MemberKey", "MemberMlsId", "MemberFirstName", "MemberLastName", "MemberFullName", "OfficeKey", "ModificationTimestamp")
SELECT 'M' || lpad(n::text, 5, '0'), 'MM' || n, first, last, first || ' ' || last, 'O' || lpad((1 + n % 500)::text, 4, '0'), timestamptz '2024-01-01Z' + n * interval '1 minute'
FROM (SELECT n, 'First' || n % 61 AS first, 'Last' || n * 7919 % 1009 AS last FROM generate_series(1, 5000) n) people;

-- Sixty cities: the first has an eighth of the market, the last 900 listings.
CREATE TEMP TABLE city AS
SELECT i, CASE i WHEN 1 THEN 'Austin' WHEN 5 THEN 'Denver' WHEN 30 THEN 'Vail' ELSE 'City ' || i END AS name, 25 + i * 7 % 60 * 0.4 AS latitude, -120 + i * 0.8 AS longitude,
  250000 + i * 13 % 60 * 12000 AS median, sum(1.0 / (i + 1)) OVER (ORDER BY i) / sum(1.0 / (i + 1)) OVER () AS bound
FROM generate_series(1, 60) i;

-- What is drawn for each listing. Listings are entered over ten years, more of them lately.
CREATE TEMP TABLE draw AS
SELECT n, random() AS r0, random() AS r1, random() AS r2, random() AS r3, random() AS r4, random() AS r5, random() AS r6, random() AS r7, random() AS r8, random() AS r9,
  3650 * power(random(), 1.3) AS age, random() + random() + random() + random() - 2 AS g1, random() + random() + random() + random() - 2 AS g2
FROM generate_series(1, 200000) n;

CREATE TEMP TABLE listing AS
SELECT d.*, c.name AS city, c.latitude, c.longitude, timestamptz '2026-11-01Z' - age * interval '1 day' AS entered,
  CASE
    WHEN age < 200 THEN CASE WHEN r1 < 0.55 THEN 'Active' WHEN r1 < 0.66 THEN 'Pending' WHEN r1 < 0.74 THEN 'Active Under Contract' WHEN r1 < 0.86 THEN 'Sold' WHEN r1 < 0.90 THEN 'Coming Soon'
      WHEN r1 < 0.94 THEN 'Hold' WHEN r1 < 0.97 THEN 'Withdrawn' ELSE 'Incomplete' END
    ELSE CASE WHEN r1 < 0.74 THEN 'Sold' WHEN r1 < 0.86 THEN 'Expired' WHEN r1 < 0.93 THEN 'Canceled' WHEN r1 < 0.955 THEN 'Withdrawn' ELSE 'Active' END
  END AS status,
  greatest(1, least(8, round(3.2 + 1.7 * g1)))::int AS beds,
  greatest(350, round(250 + 540 * (3.2 + 1.7 * g1) + 700 * g2))::numeric AS area,
  round((c.median * exp(0.7 * g2) * (0.7 + r2 / 2) / 500)::numeric) * 500 AS price,
  1 + floor(5000 * power(r3, 1.8))::int AS agent,
  (ARRAY['Oak','Maple','Cedar','Pine','Elm','Willow','Birch','Walnut','Spruce','Hickory','Juniper','Laurel','River','Lake','Hill','Meadow','Forest','Canyon','Harbor','Sunset','Park','Church','Mill','Spring',
    'Lincoln','Jefferson','Madison','Franklin','Adams','Monroe','Main','Market','College','Highland','Prairie','Magnolia','Sycamore','Chestnut','Jackson','Washington'])[1 + floor(40 * r4)] AS stem
FROM draw d JOIN city c ON c.i = width_bucket(d.r0, (SELECT array_agg(bound ORDER BY i) FROM city)::float8[]) + 1;

INSERT INTO "Property" ("ListingKey", "PublicRemarks") VALUES ('template', repeat('A home near the park. ', 30));
-- Joined to nothing a text is stored as it is, out of line, like those that the trigger writes: the copy in this table is compressed.
CREATE TEMP TABLE template AS SELECT listing_document(p) AS document FROM "Property" p;
DELETE FROM "Property";

INSERT INTO "Property" ("ListingKey", "ListingId", "OriginatingSystemName", "OriginatingSystemKey", "PropertyType", "PropertySubType", "StandardStatus", "MlsStatus", "ContractStatus",
  "ModificationTimestamp", "OriginalEntryTimestamp", "MediaChangeTimestamp", "OnMarketDate", "OnMarketTimestamp", "CloseDate", "PhotosCount", "DaysOnMarket", "ListPrice", "ClosePrice", "SoldPrice",
  "StreetNumber", "StreetName", "StreetSuffix", "UnparsedAddress", "City", "StateOrProvince", "PostalCode", "SubdivisionName", "Latitude", "Longitude", "GeoLocation",
  "ListAgentKey", "ListAgentMlsId", "ListOfficeKey", "ListOfficeMlsId", "BedroomsTotal", "BathroomsTotalInteger", "LivingArea", "YearBuilt", "ConstructionMaterials",
  "PoolPrivateYN", "WaterfrontYN", "PublicRemarks", "InternetEntireListingDisplayYN", "InternetAddressDisplayYN", "Document")
SELECT 'L' || lpad(n::text, 9, '0'), 'B' || 2000000 + n, 'MARKET', 'B-' || n,
  CASE WHEN r5 < 0.72 THEN 'Residential' WHEN r5 < 0.82 THEN 'Residential Lease' WHEN r5 < 0.90 THEN 'Land' WHEN r5 < 0.95 THEN 'Residential Income' WHEN r5 < 0.98 THEN 'Commercial Sale' ELSE 'Farm' END,
  'Single Family Residence', status, status, CASE status WHEN 'Incomplete' THEN 'Draft' ELSE 'Available' END,
  least(timestamptz '2026-11-01Z' - r6 * interval '1 day', entered + least(age, 160) * r6 * interval '1 day'), entered, entered + least(age, 160) * r6 * r7 * interval '1 day', entered::date, entered,
  CASE status WHEN 'Sold' THEN (entered + least(age, 150) * r6 * interval '1 day')::date END, CASE WHEN r7 < 0.95 THEN 4 ELSE 0 END, (least(age, 150) * r6)::int,
  CASE WHEN r8 < 0.995 THEN price END, CASE status WHEN 'Sold' THEN price END, CASE status WHEN 'Sold' THEN price END,
  number, stem, 'Street', number || ' ' || stem || ' Street, ' || city, city, 'CO', lpad((10000 + floor(90000 * r9))::text, 5, '0'),
  CASE WHEN r7 < 0.7 THEN stem || ' ' || (ARRAY['Park','Estates','Village','Commons','Crossing','Meadows','Landing','Place'])[1 + floor(8 * r9)] END,
  position_latitude, position_longitude, geo_json(position_longitude, position_latitude),
  'M' || lpad(agent::text, 5, '0'), 'MM' || agent, 'O' || lpad((1 + agent % 500)::text, 4, '0'), 'OM' || 1 + agent % 500,
  beds, greatest(1, round(beds * 0.7 + g2))::int, CASE WHEN r5 >= 0.82 AND r5 < 0.90 THEN 0 ELSE area END, 1905 + floor(122 * power(r8, 0.7))::int,
  ARRAY[(ARRAY['Frame','Brick','Vinyl Siding','Stucco','Stone'])[1 + floor(5 * r9 * r9)]] || CASE WHEN r6 < 0.005 THEN ARRAY['Log'] WHEN r6 < 0.3 THEN ARRAY['Wood Siding'] ELSE '{}' END,
  r4 < 0.13, r6 > 0.94,
  'A home ' || CASE WHEN r7 < 0.1 THEN 'near the lake ' ELSE 'near the park ' END || CASE WHEN r8 < 0.2 THEN 'with a view ' ELSE 'with a yard ' END || n,
  r3 < 0.97, r2 < 0.95, (SELECT document || '' FROM template)
FROM (SELECT *, floor(1 + 19999 * r2)::int AS number, round((latitude + 0.11 * g1)::numeric, 6) AS position_latitude, round((longitude + 0.14 * g2)::numeric, 6) AS position_longitude FROM listing) listing;

INSERT INTO "PropertyText" ("ListingKey", "SearchText")
SELECT "ListingKey", to_tsvector('simple', concat_ws(E'\n', "PublicRemarks", "City", "SubdivisionName", "PostalCode", "PropertyType", "PropertySubType", "ListingId")) FROM "Property";

INSERT INTO "Media" ("MediaKey", "ResourceName", "ResourceRecordKey", "PropertyKey", "MediaCategory", "MediaType", "MediaURL", "Order", "ModificationTimestamp", "MediaModificationTimestamp")
SELECT "ListingKey" || '-' || i, 'Property', "ListingKey", "ListingKey", 'Photo', 'image/jpeg', 'https://media.example.com/' || "ListingKey" || '/' || i, i, "MediaChangeTimestamp", "MediaChangeTimestamp"
FROM "Property", generate_series(1, 4) i WHERE "PhotosCount" > 0;

INSERT INTO "Rooms" ("RoomKey", "ListingKey", "RoomType", "ModificationTimestamp")
SELECT "ListingKey" || '-R' || i, "ListingKey", 'Bedroom', "ModificationTimestamp" FROM "Property", generate_series(1, 1) i;

-- One open house in the life of each listing. Of the active ones a twenty-fifth has the next one in December.
INSERT INTO "OpenHouse" ("OpenHouseKey", "ListingKey", "OpenHouseDate", "ModificationTimestamp")
SELECT "ListingKey" || '-O', "ListingKey", CASE WHEN "StandardStatus" = 'Active' AND right("ListingKey", 2)::int % 25 = 0 THEN date '2026-12-01' + right("ListingKey", 3)::int % 14 ELSE "OnMarketDate" + 7 END, "ModificationTimestamp"
FROM "Property" WHERE "OnMarketDate" < date '2026-10-20';
