-- PATCH /odata/Property('L1') with StandardStatus Sold

-- plan_cache_mode: custom
-- $1 = "Sold"
-- $2 = "Sold"
-- $3 = "Sold"
-- $4 = "Sold"
-- $5 = "Sold"
-- $6 = "2026-05-01T12:00:00.000Z"
-- $7 = "Sold"
-- $8 = "2026-05-01T12:00:00.000Z"
-- $9 = "Sold"
-- $10 = "Closed"
-- $11 = "Sold"
-- $12 = "Sold"
-- $13 = "2026-05-01"
-- $14 = "Sold"
-- $15 = "2026-05-01"
-- $16 = "Sold"
-- $17 = "Sold"
-- $18 = "M1"
-- $19 = "L1"
-- $20 = "M1"
-- $21 = "M1"
-- $22 = "O1"
-- $23 = "M1"
-- $24 = ["Sold","Active","Active Under Contract","Pending"]
-- $25 = "Sold"
-- $26 = "0"
-- $27 = ""
update "Property" r0
set
  "StandardStatus" = case
    when (r0."StandardStatus" is distinct from ($1::text collate "C")) then ($2::text collate "C")
    else r0."StandardStatus"
  end,
  "MlsStatus" = case
    when (r0."StandardStatus" is distinct from ($3::text collate "C")) then ($4::text collate "C")
    else r0."MlsStatus"
  end,
  "StatusChangeTimestamp" = case
    when (r0."StandardStatus" is distinct from ($5::text collate "C")) then $6::timestamptz
    else r0."StatusChangeTimestamp"
  end,
  "MajorChangeTimestamp" = case
    when (r0."StandardStatus" is distinct from ($7::text collate "C")) then $8::timestamptz
    else r0."MajorChangeTimestamp"
  end,
  "MajorChangeType" = case
    when (r0."StandardStatus" is distinct from ($9::text collate "C")) then ($10::text collate "C")
    else r0."MajorChangeType"
  end,
  "ContractStatusChangeDate" = case
    when (
      (r0."StandardStatus" is distinct from ($11::text collate "C"))
      and (r0."ContractStatus" is distinct from ($12::text collate "C"))
    ) then $13::date
    else r0."ContractStatusChangeDate"
  end,
  "CloseDate" = case
    when (r0."StandardStatus" is distinct from ($14::text collate "C")) then $15::date
    else r0."CloseDate"
  end,
  "ClosePrice" = r0."SoldPrice",
  "ContractStatus" = case
    when (r0."StandardStatus" is distinct from ($16::text collate "C")) then ($17::text collate "C")
    else r0."ContractStatus"
  end,
  "ChangedByMemberKey" = $18::text
where
  r0."ListingKey" = $19
  and (
    (
      (r0."ListAgentKey" = ($20::text collate "C"))
      or (r0."ListOfficeKey" = ($21::text collate "C"))
      or (r0."ListOfficeKey" = ($22::text collate "C"))
    )
    and (
      (
        select
          via."MemberKey"
        from
          "Member" via
        where
          via."MemberKey" = ($23::text collate "C")
      ) is not null
    )
    and (r0."StandardStatus" = any ($24::text[]))
    and (
      (r0."StandardStatus" = ($25::text collate "C"))
      or (r0."SoldPrice" > $26::numeric)
    )
  )
  and set_config('listing.writer', $27, true) is not null
returning
  '{}' as "json",
  r0."RecordVersion"::text as "version"
