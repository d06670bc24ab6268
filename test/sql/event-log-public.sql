-- EntityEvent?$filter=EntityEventSequence gt 100&$top=100 (public)

-- plan_cache_mode: custom
-- $1 = "Incomplete"
-- $2 = false
-- $3 = "Incomplete"
-- $4 = false
-- $5 = "100"
select
  string_agg(page.made[1], E',\n') as "records",
  string_agg(page.made[2], E'\n') as "cursors",
  octet_length(to_json(string_agg(page.made[3], ''))::text) = octet_length(string_agg(page.made[3], '')) + 2 as "isExact"
from
  (
    select
      array[
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
        ),
        concat('[', coalesce('"' || ((r0."EntityEventSequence")::text) || '"', 'null'), ']'),
        concat(r0."ResourceName", r0."ResourceRecordKey")
      ] as made
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
      r0."EntityEventSequence" asc
    limit
      101
  ) page
