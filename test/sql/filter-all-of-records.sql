-- Property?$select=ListingKey,City,ListPrice&$filter=Rooms/all(r:r/RoomLevel eq 'Main')

-- plan_cache_mode: custom
-- $1 = "Main"
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
        not exists (
          select
          from
            "Rooms" r1
          where
            r1."ListingKey" = r0."ListingKey"
            and ((r1."RoomLevel" is not distinct from ($1::text collate "C"))) is not true
        )
      )
    order by
      r0."ListingKey" asc
    limit
      101
  ) page
