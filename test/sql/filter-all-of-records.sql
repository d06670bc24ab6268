-- Property?$select=ListingKey,City,ListPrice&$filter=Rooms/all(r:r/RoomLevel eq 'Main')

-- plan_cache_mode: custom
-- $1 = "Main"
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
            not exists (
              select
              from
                "Rooms" r1
              where
                r1."ListingKey" = r0."ListingKey"
                and ((r1."RoomLevel" is not distinct from ($1::text collate "C"))) is not true
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
