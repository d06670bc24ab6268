-- Property?$select=ListingKey,City,ListPrice&$filter=Media/any(m:m/Order eq 1 and m/MediaCategory eq 'Photo')

-- plan_cache_mode: custom
-- $1 = 1
-- $2 = "Photo"
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
          r0."ListingKey" as o0
        from
          "Property" r0
        where
          (
            exists (
              select
              from
                "Media" r1
              where
                r1."PropertyKey" = r0."ListingKey"
                and (
                  (r1."Order" = $1::int)
                  and (r1."MediaCategory" = ($2::text collate "C"))
                )
            )
          )
        order by
          o0 asc
        limit
          101
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
          concat('[', coalesce('"' || ((keys.o0)::text) || '"', 'null'), ']') as cursor,
          concat(r0."ListingKey", r0."City", (keys.o0)::text) as texts
        from
          "Property" r0
        where
          r0."ListingKey" = keys.key
        limit
          1
      ) record
    order by
      keys.o0 asc
  ) page
