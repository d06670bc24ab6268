-- PATCH /odata/Property('L1')

-- plan_cache_mode: custom
-- $1 = "500000"
-- $2 = "Incomplete"
-- $3 = "2026-05-01T12:00:00.000Z"
-- $4 = "500000"
-- $5 = "Incomplete"
-- $6 = "Price Change"
-- $7 = "500000"
-- $8 = "2026-05-01T12:00:00.000Z"
-- $9 = "500000"
-- $10 = "500000"
-- $11 = "500000"
-- $12 = "500000"
-- $13 = "500000"
-- $14 = "Austin"
-- $15 = "L1"
-- $16 = "M1"
-- $17 = "M1"
-- $18 = "O1"
-- $19 = "7"
-- $20 = ""
update "Property" r0
set
  "MajorChangeTimestamp" = case
    when (
      ($1::numeric is distinct from r0."ListPrice")
      and (
        (r0."StandardStatus" is not null)
        and (r0."StandardStatus" is distinct from ($2::text collate "C"))
      )
    ) then $3::timestamptz
    else r0."MajorChangeTimestamp"
  end,
  "MajorChangeType" = case
    when (
      ($4::numeric is distinct from r0."ListPrice")
      and (
        (r0."StandardStatus" is not null)
        and (r0."StandardStatus" is distinct from ($5::text collate "C"))
      )
    ) then ($6::text collate "C")
    else r0."MajorChangeType"
  end,
  "PriceChangeTimestamp" = case
    when ($7::numeric is distinct from r0."ListPrice") then $8::timestamptz
    else r0."PriceChangeTimestamp"
  end,
  "ListPrice" = $9::numeric,
  "OriginalListPrice" = case
    when (
      (
        ($10::numeric is distinct from r0."ListPrice")
        and (r0."OriginalListPrice" is null)
      )
      and (r0."ListPrice" is not null)
    ) then r0."ListPrice"
    when (
      ($11::numeric is distinct from r0."ListPrice")
      and (r0."OriginalListPrice" is null)
    ) then $12::numeric
    else r0."OriginalListPrice"
  end,
  "PreviousListPrice" = case
    when (
      ($13::numeric is distinct from r0."ListPrice")
      and (r0."ListPrice" is not null)
    ) then r0."ListPrice"
    else r0."PreviousListPrice"
  end,
  "City" = $14::text
where
  r0."ListingKey" = $15
  and (
    (
      (r0."ListAgentKey" = ($16::text collate "C"))
      or (r0."ListOfficeKey" = ($17::text collate "C"))
      or (r0."ListOfficeKey" = ($18::text collate "C"))
    )
    and (r0."RecordVersion" = $19::bigint)
  )
  and set_config('listing.writer', $20, true) is not null
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
  (r0."RecordVersion")::text as "version"
