-- Media?$select=MediaKey&$top=50 (public)

-- plan_cache_mode: custom
-- $1 = "Incomplete"
-- $2 = false
select
  string_agg(page.made[1], E',\n') as "records",
  string_agg(page.made[2], E'\n') as "cursors",
  octet_length(to_json(string_agg(page.made[3], ''))::text) = octet_length(string_agg(page.made[3], '')) + 2 as "isExact"
from
  (
    select
      array[
        concat('{', '"MediaKey":', coalesce('"' || (r0."MediaKey") || '"', 'null'), '}'),
        concat('[', coalesce('"' || ((r0."MediaKey")::text) || '"', 'null'), ']'),
        concat(r0."MediaKey", (r0."MediaKey")::text)
      ] as made
    from
      "Media" r0
    where
      (
        (r0."PropertyKey" is null)
        or (
          coalesce(
            (
              select
                (
                  (r1."StandardStatus" is distinct from ($1::text collate "C"))
                  and (r1."InternetEntireListingDisplayYN" is distinct from $2::boolean)
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
      r0."MediaKey" asc
    limit
      51
  ) page
