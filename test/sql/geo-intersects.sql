-- Property?$select=ListingKey,City,ListPrice&$filter=geo.intersects(GeoLocation,geography'SRID=4326;POLYGON((-107 39,-106 39,-106 40,-107 40,-107 39))')&$top=20

-- plan_cache_mode: custom
-- $1 = "((-107,39),(-106,39),(-106,40),(-107,40),(-107,39))"
-- $2 = "((-107,39),(-106,39),(-106,40),(-107,40),(-107,39))"
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
        concat('[', coalesce('"' || ((r0."ListingKey")::text) || '"', 'null'), ']'),
        concat(r0."ListingKey", r0."City", (r0."ListingKey")::text)
      ] as made
    from
      "Property" r0
    where
      (
        geo_point (r0."GeoLocation") <@ $1::polygon
        and geo_inside (geo_point (r0."GeoLocation"), array[$2::polygon])
      )
    order by
      r0."ListingKey" asc
    limit
      21
  ) page
