-- Property?$select=ListingKey,City,ListPrice&$orderby=CloseDate,ListPrice&$top=50

-- plan_cache_mode: custom
-- $1 = "500000"
-- $2 = "500000"
-- $3 = "L1"
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
          r0."CloseDate" as o0,
          r0."ListPrice" as o1,
          r0."ListingKey" as o2
        from
          "Property" r0
        where
          (
            r0."CloseDate" is null
            and (
              (r0."ListPrice" > $1::numeric)
              or (
                (r0."ListPrice" = $2::numeric)
                and (r0."ListingKey" > $3::text)
              )
            )
          )
        order by
          o0 asc nulls first,
          o1 asc nulls first,
          o2 asc
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
            coalesce('"' || ((keys.o0)::text) || '"', 'null'),
            ',',
            coalesce('"' || (trim_scale((keys.o1)::numeric)::text) || '"', 'null'),
            ',',
            coalesce('"' || ((keys.o2)::text) || '"', 'null'),
            ']'
          ) as cursor,
          concat(r0."ListingKey", r0."City", (keys.o2)::text) as texts
        from
          "Property" r0
        where
          r0."ListingKey" = keys.key
        limit
          1
      ) record
    order by
      keys.o0 asc nulls first,
      keys.o1 asc nulls first,
      keys.o2 asc
  ) page

-- plan_cache_mode: custom
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
          r0."CloseDate" as o0,
          r0."ListPrice" as o1,
          r0."ListingKey" as o2
        from
          "Property" r0
        where
          (r0."CloseDate" is not null)
        order by
          o0 asc nulls first,
          o1 asc nulls first,
          o2 asc
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
            coalesce('"' || ((keys.o0)::text) || '"', 'null'),
            ',',
            coalesce('"' || (trim_scale((keys.o1)::numeric)::text) || '"', 'null'),
            ',',
            coalesce('"' || ((keys.o2)::text) || '"', 'null'),
            ']'
          ) as cursor,
          concat(r0."ListingKey", r0."City", (keys.o2)::text) as texts
        from
          "Property" r0
        where
          r0."ListingKey" = keys.key
        limit
          1
      ) record
    order by
      keys.o0 asc nulls first,
      keys.o1 asc nulls first,
      keys.o2 asc
  ) page
