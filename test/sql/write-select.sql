-- the record of a write, with the keys that its body refers to

-- plan_cache_mode: custom
-- $1 = ["M1"]
-- $2 = ["O1"]
-- $3 = "L1"
-- $4 = "hidden"
select
  r0."StandardStatus" as "StandardStatus",
  r0."ContractStatus" as "ContractStatus",
  trim_scale((r0."ListPrice")::numeric)::text as "ListPrice",
  trim_scale((r0."OriginalListPrice")::numeric)::text as "OriginalListPrice",
  trim_scale((r0."SoldPrice")::numeric)::text as "SoldPrice",
  to_char(r0."OnMarketTimestamp", 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "OnMarketTimestamp",
  r0."ListAgentKey" as "ListAgentKey",
  r0."ListOfficeKey" as "ListOfficeKey",
  r0."RecordVersion"::text as "version",
  array(
    select
      "MemberKey"
    from
      "Member"
    where
      "MemberKey" = any ($1::text[])
  ) as "members",
  array(
    select
      "OfficeKey"
    from
      "Office"
    where
      "OfficeKey" = any ($2::text[])
  ) as "offices"
from
  "Property" r0
where
  r0."ListingKey" = $3
  and (r0."ListingKey" <> ($4::text collate "C"))
for update
