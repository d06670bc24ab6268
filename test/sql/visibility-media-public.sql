-- Media?$select=MediaKey&$top=50 (public)

-- plan_cache_mode: custom
-- $1 = "Property"
-- $2 = "Incomplete"
-- $3 = false
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
          r0."MediaKey" as key,
          r0."MediaKey" as o0
        from
          "Media" r0
        where
          (
            (
              (r0."PropertyKey" is null)
              and (r0."ResourceName" is distinct from ($1::text collate "C"))
            )
            or (
              coalesce(
                (
                  select
                    (
                      (r1."StandardStatus" is distinct from ($2::text collate "C"))
                      and (r1."InternetEntireListingDisplayYN" is distinct from $3::boolean)
                    )
                  from
                    "Property" r1
                  where
                    r1."ListingKey" = r0."PropertyKey"
                ),
                false
              )
            )
          )
        order by
          o0 asc
        limit
          51
      ) keys,
      lateral (
        select
          concat('{', '"MediaKey":', coalesce('"' || (r0."MediaKey") || '"', 'null'), '}') as json,
          concat('[', coalesce('"' || ((keys.o0)::text) || '"', 'null'), ']') as cursor,
          concat(r0."MediaKey", (keys.o0)::text) as texts
        from
          "Media" r0
        where
          r0."MediaKey" = keys.key
        limit
          1
      ) record
    order by
      keys.o0 asc
  ) page
