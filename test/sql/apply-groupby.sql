-- Property?$apply=filter(StandardStatus eq 'Active')/groupby((City),aggregate($count as N,ListPrice with average as Mean))

-- plan_cache_mode: custom
-- $1 = "Active"
select
  string_agg(page.json, E',\n') as "records",
  string_agg(page.cursor, E'\n') as "cursors",
  octet_length(to_json(string_agg(page.texts, ''))::text) = octet_length(string_agg(page.texts, '')) + 2 as "isExact"
from
  (
    select
      concat(
        '{',
        '"City":',
        coalesce(to_json(r0."g0")::text, 'null'),
        ',"N":',
        coalesce(to_json(r0."a0")::text, 'null'),
        ',"Mean":',
        coalesce(to_json(trim_scale(r0."a1"))::text, 'null'),
        '}'
      ) as json,
      concat('[', coalesce('"' || ((r0."g0")::text) || '"', 'null'), ']') as cursor,
      concat((r0."g0")::text) as texts
    from
      (
        select
          r0.*
        from
          (
            select
              r0."City" as "g0",
              count(*) as "a0",
              (avg(r0."ListPrice"))::numeric as "a1"
            from
              "Property" r0
            where
              (r0."StandardStatus" = ($1::text collate "C"))
            group by
              1
          ) r0
        order by
          r0."g0" asc nulls first
        limit
          101
      ) r0
    order by
      r0."g0" asc nulls first
  ) page
