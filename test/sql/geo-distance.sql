-- Property?$select=ListingKey,City,ListPrice&$filter=geo.distance(GeoLocation,geography'SRID=4326;POINT(-106.37 39.64)') le 5000&$orderby=geo.distance(GeoLocation,geography'SRID=4326;POINT(-106.37 39.64)')&$top=20

-- plan_cache_mode: custom
-- $1 = "-106.37"
-- $2 = "39.64"
-- $3 = "-106.37"
-- $4 = "39.64"
-- $5 = "5000"
-- $6 = "-106.37"
-- $7 = "39.64"
-- $8 = "5000"
-- $9 = "(-106.42849226988314,39.594933981813774),(-106.31150773011687,39.68506601818623)"
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
          geo_distance (geo_point (r0."GeoLocation"), geo_point (geo_json ($1::numeric, $2::numeric))) as o0,
          r0."ListingKey" as o1
        from
          "Property" r0
        where
          (
            coalesce(
              geo_distance (geo_point (r0."GeoLocation"), geo_point (geo_json ($3::numeric, $4::numeric))) <= $5::double precision
              and geo_distance (geo_point (r0."GeoLocation"), geo_point (geo_json ($6::numeric, $7::numeric))) <> 'NaN'::double precision
              and $8::double precision <> 'NaN'::double precision,
              false
            )
            and (geo_point (r0."GeoLocation") <@ $9::box)
          )
        order by
          o0 asc nulls first,
          o1 asc
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
            coalesce(
              case
                when trim_scale(r0."ListPrice") in ('NaN', 'Infinity', '-Infinity') then '"' || (trim_scale(r0."ListPrice"))::text || '"'
                else (trim_scale(r0."ListPrice"))::text
              end,
              'null'
            ),
            '}'
          ) as json,
          concat(
            '[',
            coalesce('"' || ((keys.o0)::text) || '"', 'null'),
            ',',
            coalesce('"' || ((keys.o1)::text) || '"', 'null'),
            ']'
          ) as cursor,
          concat(r0."ListingKey", r0."City", (keys.o1)::text) as texts
        from
          "Property" r0
        where
          r0."ListingKey" = keys.key
        limit
          1
      ) record
    order by
      keys.o0 asc nulls first,
      keys.o1 asc
  ) page
