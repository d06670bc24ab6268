-- Property?$select=ListingKey,City,ListPrice&$filter=contains(tolower(UnparsedAddress),'pine')&$orderby=UnparsedAddress&$top=20

-- plan_cache_mode: custom
-- $1 = "%pine%"
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
        concat(
          '[',
          coalesce('"' || ((r0."UnparsedAddress")::text) || '"', 'null'),
          ',',
          coalesce('"' || ((r0."ListingKey")::text) || '"', 'null'),
          ']'
        ),
        concat(r0."ListingKey", r0."City", (r0."UnparsedAddress")::text, (r0."ListingKey")::text)
      ] as made
    from
      "Property" r0
    where
      ((lower(r0."UnparsedAddress" collate "und-x-icu") collate "C") like $1)
    order by
      r0."UnparsedAddress" asc nulls first,
      r0."ListingKey" asc
    limit
      21
  ) page
