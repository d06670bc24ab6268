-- Property?$select=ListingKey,City,ListPrice&$orderby=ListPrice&$skip=20&$top=10

-- plan_cache_mode: generic
-- $1 = 20
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
      concat(
        '[',
        coalesce('"' || (trim_scale((r0."ListPrice")::numeric)::text) || '"', 'null'),
        ',',
        coalesce('"' || ((r0."ListingKey")::text) || '"', 'null'),
        ']'
      ) as cursor,
      concat(r0."ListingKey", r0."City", (r0."ListingKey")::text) as texts
    from
      "Property" r0
    order by
      r0."ListPrice" asc nulls first,
      r0."ListingKey" asc
    limit
      11
    offset
      $1
  ) page
