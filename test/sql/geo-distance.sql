-- Property?$select=ListingKey,City,ListPrice&$filter=geo.distance(GeoLocation,geography'SRID=4326;POINT(-106.37 39.64)') le 5000&$orderby=geo.distance(GeoLocation,geography'SRID=4326;POINT(-106.37 39.64)')&$top=20

-- plan_cache_mode: custom
-- $1 = "-106.37"
-- $2 = "39.64"
-- $3 = "(-106.42849226988314,39.594933981813774),(-106.31150773011687,39.68506601818623)"
-- $4 = "-106.37"
-- $5 = "39.64"
-- $6 = "5000"
-- $7 = "-106.37"
-- $8 = "39.64"
-- $9 = "5000"
-- $10 = "-106.37"
-- $11 = "39.64"
select
  string_agg(page.made[1], E',\n') as "records",
  string_agg(page.made[2], E'\n') as "cursors",
  octet_length(to_json(string_agg(page.made[3], ''))::text) = octet_length(string_agg(page.made[3], '')) + 2 as "isExact"
from
  (
    select
      array[
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
        ),
        concat(
          '[',
          coalesce(
            '"' || (
              (geo_distance (geo_point (r0."GeoLocation"), geo_point (geo_json ($1::numeric, $2::numeric))))::text
            ) || '"',
            'null'
          ),
          ',',
          coalesce('"' || ((r0."ListingKey")::text) || '"', 'null'),
          ']'
        ),
        concat(r0."ListingKey", r0."City", (r0."ListingKey")::text)
      ] as made
    from
      "Property" r0
    where
      (
        (geo_point (r0."GeoLocation") <@ $3::box)
        and coalesce(
          geo_distance (geo_point (r0."GeoLocation"), geo_point (geo_json ($4::numeric, $5::numeric))) <= $6::double precision
          and geo_distance (geo_point (r0."GeoLocation"), geo_point (geo_json ($7::numeric, $8::numeric))) <> 'NaN'::double precision
          and $9::double precision <> 'NaN'::double precision,
          false
        )
      )
    order by
      geo_distance (geo_point (r0."GeoLocation"), geo_point (geo_json ($10::numeric, $11::numeric))) asc nulls first,
      r0."ListingKey" asc
    limit
      21
  ) page
