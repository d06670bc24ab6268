-- Property('L1')?$select=ListingKey,City,ListPrice

-- plan_cache_mode: generic
-- $1 = "L1"
select
  (
    select
      row_to_json(record)
    from
      (
        select
          r0."ListingKey" as "ListingKey",
          r0."City" as "City",
          trim_scale(r0."ListPrice") as "ListPrice"
      ) record
  )::text as "json",
  (r0."RecordVersion")::text as "version"
from
  "Property" r0
where
  (r0."ListingKey" = ($1::text collate "C"))
order by
  r0."ListingKey" asc
limit
  1
