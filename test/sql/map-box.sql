-- Property?$select=ListingKey,City,ListPrice&$filter=Latitude ge 39.6 and Latitude le 39.7 and Longitude ge -106.4 and Longitude le -106.3&$top=500

-- plan_cache_mode: custom
-- $1 = "39.6"
-- $2 = "39.7"
-- $3 = "-106.4"
-- $4 = "-106.3"
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
        (r0."Latitude" >= $1::numeric)
        and (r0."Latitude" <= $2::numeric)
        and (r0."Longitude" >= $3::numeric)
        and (r0."Longitude" <= $4::numeric)
      )
    order by
      r0."ListingKey" asc
    limit
      501
  ) page
