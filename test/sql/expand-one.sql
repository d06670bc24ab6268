-- Property?$select=ListingKey,City,ListPrice&$expand=ListAgent($select=MemberKey,MemberLastName)&$top=20

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
        ',"City":',
        coalesce('"' || (r0."City") || '"', 'null'),
        ',"ListPrice":',
        coalesce((trim_scale(r0."ListPrice"))::text, 'null'),
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
                        r1."MemberLastName" as "MemberLastName"
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
      concat(r0."ListingKey", r0."City", (r0."ListingKey")::text) as texts
    from
      "Property" r0
    order by
      r0."ListingKey" asc
    limit
      21
  ) page
