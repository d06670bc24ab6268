-- the record of a refused write, with the members and offices that its rules look up

-- plan_cache_mode: custom
-- $1 = ["M1","O1"]
-- $2 = ["M1","O1"]
-- $3 = "L1"
select
  r0."StandardStatus" as "StandardStatus",
  r0."ContractStatus" as "ContractStatus",
  trim_scale((r0."ListPrice")::numeric)::text as "ListPrice",
  trim_scale((r0."OriginalListPrice")::numeric)::text as "OriginalListPrice",
  trim_scale((r0."SoldPrice")::numeric)::text as "SoldPrice",
  to_char(r0."OnMarketTimestamp", 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "OnMarketTimestamp",
  r0."ListAgentKey" as "ListAgentKey",
  r0."ListOfficeKey" as "ListOfficeKey",
  r0."InternetEntireListingDisplayYN" as "InternetEntireListingDisplayYN",
  r0."RecordVersion"::text as "RecordVersion",
  (
    select
      json_object_agg("MemberKey", "OfficeKey")
    from
      "Member"
    where
      "MemberKey" = any ($1::text[] || r0."ListAgentKey")
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
for update of
  r0
