-- Property?$select=ListingKey,City,ListPrice&$filter=round(ListPrice div LivingArea) gt 200 and length(trim(City)) lt 8 and DaysOnMarket mod 7 eq 1

-- plan_cache_mode: custom
-- $1 = "200"
-- $2 = "\t\n\u000b\f\r                  　"
-- $3 = 8
-- $4 = 7
-- $5 = 1
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
        (round((r0."ListPrice" / nullif(r0."LivingArea", 0))) > $1::numeric)
        and (length(btrim(r0."City", $2)) < $3::int)
        and (mod((r0."DaysOnMarket")::numeric, nullif($4::int, 0)::numeric) = $5::int)
      )
    order by
      r0."ListingKey" asc
    limit
      101
  ) page
