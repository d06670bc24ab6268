-- Property?$select=ListingKey,City,ListPrice&$filter=round(ListPrice div LivingArea) gt 200 and length(trim(City)) lt 8 and DaysOnMarket mod 7 eq 1

-- plan_cache_mode: custom
-- $1 = "200"
-- $2 = "\t\n\u000b\f\r                  　"
-- $3 = 8
-- $4 = 7
-- $5 = 1
select
  string_agg(page.json, E',\n') as "records",
  string_agg(page.cursor, E'\n') as "cursors",
  octet_length(to_json(string_agg(page.texts, ''))::text) = octet_length(string_agg(page.texts, '')) + 2 as "isExact"
from
  (
    select
      record.*
    from
      (
        select
          r0."ListingKey" as key,
          r0."ListingKey" as o0
        from
          "Property" r0
        where
          (
            (round((r0."ListPrice" / nullif(r0."LivingArea", 0))) > $1::numeric)
            and (length(btrim(r0."City", $2)) < $3::int)
            and (mod((r0."DaysOnMarket")::numeric, nullif($4::int, 0)::numeric) = $5::int)
          )
        order by
          o0 asc
        limit
          101
      ) keys,
      lateral (
        select
          concat(
            '{',
            '"ListingKey":',
            coalesce('"' || (r0."ListingKey") || '"', 'null'),
            ',"City":',
            coalesce('"' || (r0."City") || '"', 'null'),
            ',"ListPrice":',
            coalesce((trim_scale(r0."ListPrice"))::text, 'null'),
            '}'
          ) as json,
          concat('[', coalesce('"' || ((keys.o0)::text) || '"', 'null'), ']') as cursor,
          concat(r0."ListingKey", r0."City", (keys.o0)::text) as texts
        from
          "Property" r0
        where
          r0."ListingKey" = keys.key
        limit
          1
      ) record
    order by
      keys.o0 asc
  ) page
