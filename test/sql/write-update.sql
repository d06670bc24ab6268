-- PATCH /odata/Property('L1')

-- plan_cache_mode: custom
-- $1 = "500000.00"
-- $2 = "Austin"
-- $3 = "L1"
-- $4 = "7"
update "Property" r0
set
  "ListPrice" = $1::numeric,
  "City" = $2::text
where
  r0."ListingKey" = $3
  and r0."RecordVersion" = $4::bigint
returning
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
  (r0."RecordVersion")::text as "version",
  r0."StandardStatus" as "StandardStatus",
  r0."ContractStatus" as "ContractStatus",
  trim_scale((r0."ListPrice")::numeric)::text as "ListPrice",
  trim_scale((r0."OriginalListPrice")::numeric)::text as "OriginalListPrice",
  trim_scale((r0."SoldPrice")::numeric)::text as "SoldPrice",
  to_char(r0."OnMarketTimestamp", 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as "OnMarketTimestamp",
  r0."ListAgentKey" as "ListAgentKey",
  r0."ListOfficeKey" as "ListOfficeKey"
