-- Property?$select=ListingKey,City,ListPrice&$filter=City eq 'Austin'&$count=true&$top=50

-- plan_cache_mode: custom
-- $1 = "Austin"
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
      (r0."City" = ($1::text collate "C"))
    order by
      r0."ListingKey" asc
    limit
      51
  ) page

-- plan_cache_mode: generic
-- $1 = "Austin"
select
  count(*)::int as "count"
from
  "Property" r0
where
  (r0."City" = ($1::text collate "C"))
