-- Property?$select=ListingKey,City,ListPrice&$filter=City eq 'Austin' and (BedroomsTotal ge 3 or ListPrice lt 500000) and not (PoolPrivateYN eq true)

-- plan_cache_mode: custom
-- $1 = "Austin"
-- $2 = 3
-- $3 = "500000"
-- $4 = true
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
        (r0."City" = ($1::text collate "C"))
        and (
          (r0."BedroomsTotal" >= $2::int)
          or (r0."ListPrice" < $3::numeric)
        )
        and (r0."PoolPrivateYN" is distinct from $4::boolean)
      )
    order by
      r0."ListingKey" asc
    limit
      101
  ) page
