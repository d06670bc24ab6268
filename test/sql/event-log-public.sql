-- EntityEvent?$filter=EntityEventSequence gt 100&$top=100 (public)

-- plan_cache_mode: generic
-- $1 = "public"
-- $2 = "100"
select
  string_agg(page.json, E',\n') as "records",
  string_agg(page.cursor, E'\n') as "cursors",
  octet_length(to_json(string_agg(page.texts, ''))::text) = octet_length(string_agg(page.texts, '')) + 2 as "isExact"
from
  (
    select
      concat(
        '{',
        '"EntityEventSequence":',
        coalesce((r0."EntityEventSequence")::text, 'null'),
        ',"EventTimestamp":',
        coalesce('"' || (to_char(r0."EventTimestamp", 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) || '"', 'null'),
        ',"ResourceName":',
        coalesce('"' || (r0."ResourceName") || '"', 'null'),
        ',"ResourceRecordKey":',
        coalesce('"' || (r0."ResourceRecordKey") || '"', 'null'),
        ',"ResourceRecordUrl":',
        coalesce(to_json(r0."ResourceRecordUrl")::text, 'null'),
        '}'
      ) as json,
      concat('[', coalesce('"' || ((r0."EntityEventSequence")::text) || '"', 'null'), ']') as cursor,
      concat(r0."ResourceName", r0."ResourceRecordKey") as texts
    from
      "EntityEvent" r0
    where
      (
        (r0."Audience" = ($1::text collate "C"))
        and (r0."EntityEventSequence" > $2::bigint)
      )
    order by
      r0."EntityEventSequence" asc
    limit
      101
  ) page
