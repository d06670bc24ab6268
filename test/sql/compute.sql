-- Property?$compute=ListPrice div 1000 as Thousands&$select=ListingKey,Thousands&$top=20

-- plan_cache_mode: generic
-- $1 = "1000"
select
  string_agg(page.json, E',\n') as "records",
  string_agg(page.cursor, E'\n') as "cursors",
  octet_length(to_json(string_agg(page.texts, ''))::text) = octet_length(string_agg(page.texts, '')) + 2 as "isExact"
from
  (
    select
      concat(
        '{',
        '"ListingKey":',
        coalesce('"' || (r0."ListingKey") || '"', 'null'),
        ',"Thousands":',
        coalesce(to_json(trim_scale((r0."ListPrice" / nullif($1::numeric, 0))))::text, 'null'),
        '}'
      ) as json,
      concat('[', coalesce('"' || ((r0."ListingKey")::text) || '"', 'null'), ']') as cursor,
      concat(r0."ListingKey", (r0."ListingKey")::text) as texts
    from
      "Property" r0
    order by
      r0."ListingKey" asc
    limit
      21
  ) page
