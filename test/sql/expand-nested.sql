-- Property?$select=ListingKey&$expand=ListAgent($select=MemberKey;$expand=Media($select=MediaKey;$top=2))&$top=5

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
        ',"ListAgent":',
        coalesce(
          to_json(
            (
              select
                (
                  select
                    row_to_json(record)
                  from
                    (
                      select
                        r1."MemberKey" as "MemberKey",
                        (
                          select
                            coalesce(json_agg(listed.record), '[]')
                          from
                            (
                              select
                                (
                                  select
                                    row_to_json(record)
                                  from
                                    (
                                      select
                                        r2."MediaKey" as "MediaKey"
                                    ) record
                                ) as record
                              from
                                "Media" r2
                              where
                                r2."MemberKey" = r1."MemberKey"
                              order by
                                r2."MediaKey" asc
                              limit
                                2
                            ) listed
                        ) as "Media"
                    ) record
                )
              from
                "Member" r1
              where
                r1."MemberKey" = r0."ListAgentKey"
            )
          )::text,
          'null'
        ),
        '}'
      ) as json,
      concat('[', coalesce('"' || ((r0."ListingKey")::text) || '"', 'null'), ']') as cursor,
      concat(r0."ListingKey", (r0."ListingKey")::text) as texts
    from
      "Property" r0
    order by
      r0."ListingKey" asc
    limit
      6
  ) page
