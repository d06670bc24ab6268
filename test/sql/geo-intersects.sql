-- Property?$select=ListingKey,City,ListPrice&$filter=geo.intersects(GeoLocation,geography'SRID=4326;POLYGON((-107 39,-106 39,-106 40,-107 40,-107 39))')&$top=20

-- plan_cache_mode: custom
-- $1 = "((-107,39),(-106,39),(-106,40),(-107,40),(-107,39))"
-- $2 = 38.9999
-- $3 = 40.0001
-- $4 = -107.0001
-- $5 = -105.9999
select
  string_agg(page.json, E',\n') as "records",
  string_agg(page.cursor, E'\n') as "cursors",
  octet_length(to_json(string_agg(page.texts, ''))::text) = octet_length(string_agg(page.texts, '')) + 2 as "isExact"
from
  (
    select
      record.*
    from
      (
        select
          r0."ListingKey" as key,
          r0."ListingKey" as o0
        from
          "Property" r0
        where
          (
            geo_inside (point((r0."Longitude")::double precision, (r0."Latitude")::double precision), array[$1::polygon])
            and (
              r0."Latitude" >= $2::numeric
              and r0."Latitude" <= $3::numeric
              and r0."Longitude" >= $4::numeric
              and r0."Longitude" <= $5::numeric
            )
          )
        order by
          o0 asc
        limit
          21
      ) keys,
      lateral (
        select
          concat(
            '{',
            '"ListingKey":',
            coalesce('"' || (r0."ListingKey") || '"', 'null'),
            ',"City":',
            coalesce('"' || (r0."City") || '"', 'null'),
            ',"ListPrice":',
            coalesce((trim_scale(r0."ListPrice"))::text, 'null'),
            '}'
          ) as json,
          concat('[', coalesce('"' || ((keys.o0)::text) || '"', 'null'), ']') as cursor,
          concat(r0."ListingKey", r0."City", (keys.o0)::text) as texts
        from
          "Property" r0
        where
          r0."ListingKey" = keys.key
        limit
          1
      ) record
    order by
      keys.o0 asc
  ) page
