-- Property?$select=ListingKey,City,ListPrice&$top=50 (member)

-- plan_cache_mode: generic
-- $1 = "Incomplete"
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
        ',"City":',
        coalesce('"' || (r0."City") || '"', 'null'),
        ',"ListPrice":',
        coalesce((trim_scale(r0."ListPrice"))::text, 'null'),
        '}'
      ) as json,
      concat('[', coalesce('"' || ((r0."ListingKey")::text) || '"', 'null'), ']') as cursor,
      concat(r0."ListingKey", r0."City", (r0."ListingKey")::text) as texts
    from
      "Property" r0
    where
      (r0."StandardStatus" is distinct from ($1::text collate "C"))
    order by
      r0."ListingKey" asc
    limit
      51
  ) page
