-- DELETE /odata/Property('L1')

-- plan_cache_mode: custom
-- $1 = "L1"
-- $2 = "M1"
-- $3 = "M1"
-- $4 = "O1"
-- $5 = ""
delete from "Property" r0
where
  r0."ListingKey" = $1
  and (
    (r0."ListAgentKey" = ($2::text collate "C"))
    or (r0."ListOfficeKey" = ($3::text collate "C"))
    or (r0."ListOfficeKey" = ($4::text collate "C"))
  )
  and set_config('listing.writer', $5, true) is not null
returning
  '{}' as "json",
  r0."RecordVersion"::text as "version"
