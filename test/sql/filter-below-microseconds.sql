-- Property?$select=ListingKey,City,ListPrice&$filter=ModificationTimestamp gt 2026-01-01T00:00:00.0009999999Z and ModificationTimestamp add duration'PT0.0000001S' lt 2026-02-01T00:00:00Z

-- plan_cache_mode: custom
-- $1 = "2026-01-01T00:00:00.000999Z"
-- $2 = "0.0000001"
-- $3 = "1970-01-01T00:00:00Z"
-- $4 = "1769904000.000000000000"
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
          '}'
        ),
        concat('[', coalesce('"' || ((r0."ListingKey")::text) || '"', 'null'), ']'),
        concat(r0."ListingKey", r0."City", (r0."ListingKey")::text)
      ] as made
    from
      "Property" r0
    where
      (
        (r0."ModificationTimestamp" > $1::timestamptz)
        and (
          (
            (
              extract(
                epoch
                from
                  r0."ModificationTimestamp"
              ) + $2::numeric
            ) - extract(
              epoch
              from
                $3::timestamptz
            )
          ) < $4::numeric
        )
      )
    order by
      r0."ListingKey" asc
    limit
      101
  ) page
