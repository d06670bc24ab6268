-- DELETE /odata/Property('L1')

-- plan_cache_mode: custom
-- $1 = "L1"
-- $2 = "7"
delete from "Property" r0
where
  r0."ListingKey" = $1
  and r0."RecordVersion" = $2::bigint
returning
  true as "removed"
