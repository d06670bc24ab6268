-- Property?$select=ListingKey,City,ListPrice&$filter=geo.distance(GeoLocation,geography'SRID=4326;POINT(-106.37 39.64)') le 5000&$orderby=geo.distance(GeoLocation,geography'SRID=4326;POINT(-106.37 39.64)')&$top=20

-- plan_cache_mode: custom
-- $1 = "-106.37"
-- $2 = "39.64"
-- $3 = "-106.37"
-- $4 = "39.64"
-- $5 = "5000"
-- $6 = 39.594933981813774
-- $7 = 39.68506601818623
-- $8 = -106.42849226988314
-- $9 = -106.31150773011687
-- $10 = 39.638101359272554
-- $11 = 39.64189864072745
-- $12 = -106.37243569063104
-- $13 = -106.36756430936897
-- $14 = "-106.37"
-- $15 = "39.64"
-- $16 = 200
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
          geo_distance (
            (r0."Longitude")::double precision,
            (r0."Latitude")::double precision,
            ($1)::double precision,
            ($2)::double precision
          ) as o0,
          r0."ListingKey" as o1
        from
          "Property" r0
        where
          (
            (
              geo_distance (
                (r0."Longitude")::double precision,
                (r0."Latitude")::double precision,
                ($3)::double precision,
                ($4)::double precision
              ) <= $5::double precision
            )
            and (
              (
                r0."Latitude" >= $6::numeric
                and r0."Latitude" <= $7::numeric
                and r0."Longitude" >= $8::numeric
                and r0."Longitude" <= $9::numeric
              )
            )
          )
          and (
            (
              (
                r0."Latitude" >= $10::numeric
                and r0."Latitude" <= $11::numeric
                and r0."Longitude" >= $12::numeric
                and r0."Longitude" <= $13::numeric
              )
            )
            and geo_distance (
              (r0."Longitude")::double precision,
              (r0."Latitude")::double precision,
              ($14)::double precision,
              ($15)::double precision
            ) <= $16::double precision
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
            coalesce((trim_scale(r0."ListPrice"))::text, 'null'),
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

-- plan_cache_mode: custom
-- $1 = "-106.37"
-- $2 = "39.64"
-- $3 = "-106.37"
-- $4 = "39.64"
-- $5 = "5000"
-- $6 = 39.594933981813774
-- $7 = 39.68506601818623
-- $8 = -106.42849226988314
-- $9 = -106.31150773011687
-- $10 = 39.63450407781765
-- $11 = 39.64549592218235
-- $12 = -106.37710707189942
-- $13 = -106.36289292810059
-- $14 = "-106.37"
-- $15 = "39.64"
-- $16 = 200
-- $17 = "-106.37"
-- $18 = "39.64"
-- $19 = 600
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
          geo_distance (
            (r0."Longitude")::double precision,
            (r0."Latitude")::double precision,
            ($1)::double precision,
            ($2)::double precision
          ) as o0,
          r0."ListingKey" as o1
        from
          "Property" r0
        where
          (
            (
              geo_distance (
                (r0."Longitude")::double precision,
                (r0."Latitude")::double precision,
                ($3)::double precision,
                ($4)::double precision
              ) <= $5::double precision
            )
            and (
              (
                r0."Latitude" >= $6::numeric
                and r0."Latitude" <= $7::numeric
                and r0."Longitude" >= $8::numeric
                and r0."Longitude" <= $9::numeric
              )
            )
          )
          and (
            (
              (
                r0."Latitude" >= $10::numeric
                and r0."Latitude" <= $11::numeric
                and r0."Longitude" >= $12::numeric
                and r0."Longitude" <= $13::numeric
              )
            )
            and geo_distance (
              (r0."Longitude")::double precision,
              (r0."Latitude")::double precision,
              ($14)::double precision,
              ($15)::double precision
            ) > $16::double precision
            and geo_distance (
              (r0."Longitude")::double precision,
              (r0."Latitude")::double precision,
              ($17)::double precision,
              ($18)::double precision
            ) <= $19::double precision
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
            coalesce((trim_scale(r0."ListPrice"))::text, 'null'),
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

-- plan_cache_mode: custom
-- $1 = "-106.37"
-- $2 = "39.64"
-- $3 = "-106.37"
-- $4 = "39.64"
-- $5 = "5000"
-- $6 = 39.594933981813774
-- $7 = 39.68506601818623
-- $8 = -106.42849226988314
-- $9 = -106.31150773011687
-- $10 = 39.623712233452956
-- $11 = 39.656287766547045
-- $12 = -106.39112121586885
-- $13 = -106.34887878413116
-- $14 = "-106.37"
-- $15 = "39.64"
-- $16 = 600
-- $17 = "-106.37"
-- $18 = "39.64"
-- $19 = 1800
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
          geo_distance (
            (r0."Longitude")::double precision,
            (r0."Latitude")::double precision,
            ($1)::double precision,
            ($2)::double precision
          ) as o0,
          r0."ListingKey" as o1
        from
          "Property" r0
        where
          (
            (
              geo_distance (
                (r0."Longitude")::double precision,
                (r0."Latitude")::double precision,
                ($3)::double precision,
                ($4)::double precision
              ) <= $5::double precision
            )
            and (
              (
                r0."Latitude" >= $6::numeric
                and r0."Latitude" <= $7::numeric
                and r0."Longitude" >= $8::numeric
                and r0."Longitude" <= $9::numeric
              )
            )
          )
          and (
            (
              (
                r0."Latitude" >= $10::numeric
                and r0."Latitude" <= $11::numeric
                and r0."Longitude" >= $12::numeric
                and r0."Longitude" <= $13::numeric
              )
            )
            and geo_distance (
              (r0."Longitude")::double precision,
              (r0."Latitude")::double precision,
              ($14)::double precision,
              ($15)::double precision
            ) > $16::double precision
            and geo_distance (
              (r0."Longitude")::double precision,
              (r0."Latitude")::double precision,
              ($17)::double precision,
              ($18)::double precision
            ) <= $19::double precision
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
            coalesce((trim_scale(r0."ListPrice"))::text, 'null'),
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

-- plan_cache_mode: custom
-- $1 = "-106.37"
-- $2 = "39.64"
-- $3 = "-106.37"
-- $4 = "39.64"
-- $5 = "5000"
-- $6 = 39.594933981813774
-- $7 = 39.68506601818623
-- $8 = -106.42849226988314
-- $9 = -106.31150773011687
-- $10 = "-106.37"
-- $11 = "39.64"
-- $12 = 1800
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
          geo_distance (
            (r0."Longitude")::double precision,
            (r0."Latitude")::double precision,
            ($1)::double precision,
            ($2)::double precision
          ) as o0,
          r0."ListingKey" as o1
        from
          "Property" r0
        where
          (
            (
              geo_distance (
                (r0."Longitude")::double precision,
                (r0."Latitude")::double precision,
                ($3)::double precision,
                ($4)::double precision
              ) <= $5::double precision
            )
            and (
              (
                r0."Latitude" >= $6::numeric
                and r0."Latitude" <= $7::numeric
                and r0."Longitude" >= $8::numeric
                and r0."Longitude" <= $9::numeric
              )
            )
          )
          and (
            geo_distance (
              (r0."Longitude")::double precision,
              (r0."Latitude")::double precision,
              ($10)::double precision,
              ($11)::double precision
            ) > $12::double precision
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
            coalesce((trim_scale(r0."ListPrice"))::text, 'null'),
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
