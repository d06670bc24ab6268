-- Property/$count?$filter=City eq 'Austin' and ListPrice ge 100000

-- plan_cache_mode: generic
-- $1 = "Austin"
-- $2 = "100000"
select
  count(*)::int as "count"
from
  "Property" r0
where
  (
    (r0."City" = ($1::text collate "C"))
    and (r0."ListPrice" >= $2::numeric)
  )
