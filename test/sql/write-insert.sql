-- POST /odata/Property

-- plan_cache_mode: custom
-- $1 = "L1"
-- $2 = "500000.00"
-- $3 = "Austin"
insert into
  "Property" as r0 ("ListingKey", "ListPrice", "City")
values
  ($1::text, $2::numeric, $3::text)
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
