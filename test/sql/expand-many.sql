-- Property?$select=ListingKey,City,ListPrice&$expand=Media($select=MediaKey,MediaURL;$filter=MediaCategory eq 'Photo';$orderby=Order;$top=3;$count=true)&$top=20

-- plan_cache_mode: custom
-- $1 = "Photo"
-- $2 = "Photo"
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
          '"ListingKey":',
          coalesce('"' || (r0."ListingKey") || '"', 'null'),
          ',"City":',
          coalesce('"' || (r0."City") || '"', 'null'),
          ',"ListPrice":',
          coalesce(
            case
              when trim_scale(r0."ListPrice") in ('NaN', 'Infinity', '-Infinity') then '"' || (trim_scale(r0."ListPrice"))::text || '"'
              else (trim_scale(r0."ListPrice"))::text
            end,
            'null'
          ),
          ',"Media@odata.count":',
          coalesce(
            (
              (
                select
                  count(*)
                from
                  "Media" r1
                where
                  r1."PropertyKey" = r0."ListingKey"
                  and (r1."MediaCategory" = ($1::text collate "C"))
              )
            )::text,
            'null'
          ),
          ',"Media":',
          coalesce(
            to_json(
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
                              r1."MediaKey" as "MediaKey",
                              r1."MediaURL" as "MediaURL"
                          ) record
                      ) as record
                    from
                      "Media" r1
                    where
                      r1."PropertyKey" = r0."ListingKey"
                      and (r1."MediaCategory" = ($2::text collate "C"))
                    order by
                      r1."Order" asc nulls first,
                      r1."MediaKey" asc
                    limit
                      3
                  ) listed
              )
            )::text,
            'null'
          ),
          '}'
        ),
        concat('[', coalesce('"' || ((r0."ListingKey")::text) || '"', 'null'), ']'),
        concat(r0."ListingKey", r0."City", (r0."ListingKey")::text)
      ] as made
    from
      "Property" r0
    order by
      r0."ListingKey" asc
    limit
      21
  ) page
