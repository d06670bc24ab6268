-- Property?$select=ListingKey,City,ListPrice&$orderby=ListPrice desc&$top=50

-- plan_cache_mode: generic
-- $1 = "500000"
-- $2 = "L1"
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
    where
      ((r0."ListPrice", r0."ListingKey") < ($1::numeric, $2::text))
    order by
      r0."ListPrice" desc nulls last,
      r0."ListingKey" desc
    limit
      51
  ) page

-- plan_cache_mode: generic
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
    where
      (r0."ListPrice" is null)
    order by
      r0."ListPrice" desc nulls last,
      r0."ListingKey" desc
    limit
      51
  ) page
