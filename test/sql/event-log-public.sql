-- EntityEvent?$filter=EntityEventSequence gt 100&$top=100 (public)

-- plan_cache_mode: custom
-- $1 = "Incomplete"
-- $2 = false
-- $3 = "Incomplete"
-- $4 = false
-- $5 = "100"
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
          r0."EntityEventSequence" as key,
          r0."EntityEventSequence" as o0
        from
          "EntityEvent" r0
        where
          (
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
              or (
                (
                  not coalesce(
                    (
                      select
                        true
                      from
                        "Property" r1
                      where
                        r1."ListingKey" = r0."PropertyKey"
                    ),
                    false
                  )
                )
                and (
                  (r0."StandardStatus" is distinct from ($3::text collate "C"))
                  and (r0."InternetEntireListingDisplayYN" is distinct from $4::boolean)
                )
              )
            )
            and (r0."EntityEventSequence" > $5::bigint)
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
            '"EntityEventSequence":',
            coalesce((r0."EntityEventSequence")::text, 'null'),
            ',"ResourceName":',
            coalesce('"' || (r0."ResourceName") || '"', 'null'),
            ',"ResourceRecordKey":',
            coalesce('"' || (r0."ResourceRecordKey") || '"', 'null'),
            ',"ResourceRecordUrl":',
            coalesce(to_json(r0."ResourceRecordUrl")::text, 'null'),
            '}'
          ) as json,
          concat('[', coalesce('"' || ((keys.o0)::text) || '"', 'null'), ']') as cursor,
          concat(r0."ResourceName", r0."ResourceRecordKey") as texts
        from
          "EntityEvent" r0
        where
          r0."EntityEventSequence" = keys.key
        limit
          1
      ) record
    order by
      keys.o0 asc
  ) page
