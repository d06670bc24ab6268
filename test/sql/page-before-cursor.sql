-- Property?$select=ListingKey,City,ListPrice&$orderby=ListPrice&$top=50

-- plan_cache_mode: custom
-- $1 = "500000"
-- $2 = "L1"
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
          r0."ListPrice" as o0,
          r0."ListingKey" as o1
        from
          "Property" r0
        where
          (
            ((r0."ListPrice", r0."ListingKey") < ($1::numeric, $2::text))
            or (r0."ListPrice" is null)
          )
        order by
          o0 asc nulls first,
          o1 asc
        limit
          51
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
            coalesce('"' || (trim_scale((keys.o0)::numeric)::text) || '"', 'null'),
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
