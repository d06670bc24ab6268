-- Property?$select=ListingKey,City,ListPrice&$filter=Latitude ge 39.6 and Latitude le 39.7 and Longitude ge -106.4 and Longitude le -106.3&$top=500

-- plan_cache_mode: custom
-- $1 = "39.6"
-- $2 = "39.7"
-- $3 = "-106.4"
-- $4 = "-106.3"
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
            (r0."Latitude" >= $1::numeric)
            and (r0."Latitude" <= $2::numeric)
            and (r0."Longitude" >= $3::numeric)
            and (r0."Longitude" <= $4::numeric)
          )
        order by
          o0 asc
        limit
          501
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
