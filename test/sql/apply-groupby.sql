-- Property?$apply=filter(StandardStatus eq 'Active')/groupby((City),aggregate($count as N,ListPrice with average as Mean))

-- plan_cache_mode: custom
-- $1 = "Active"
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
          '"City":',
          coalesce(to_json(r0."g0")::text, 'null'),
          ',"N":',
          coalesce(to_json(r0."a0")::text, 'null'),
          ',"Mean":',
          coalesce(to_json(trim_scale(r0."a1"))::text, 'null'),
          '}'
        ),
        concat('[', coalesce('"' || ((r0."g0")::text) || '"', 'null'), ']'),
        concat((r0."g0")::text)
      ] as made
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
  ) page
