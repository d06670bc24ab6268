-- POST /odata/Property

-- plan_cache_mode: custom
-- $1 = "L1"
-- $2 = "Austin"
-- $3 = "M2"
-- $4 = "O1"
-- $5 = "M2"
-- $6 = "M2"
-- $7 = "M1"
-- $8 = "M2"
-- $9 = "M2"
-- $10 = "O1"
-- $11 = "M2"
-- $12 = "M1"
-- $13 = "O1"
-- $14 = "O1"
-- $15 = "M2"
-- $16 = "O1"
-- $17 = "O1"
-- $18 = "O1"
-- $19 = "M2"
-- $20 = "M1"
-- $21 = "O1"
-- $22 = "M1"
-- $23 = "O1"
-- $24 = "O1"
-- $25 = "M2"
-- $26 = "O1"
-- $27 = "O1"
-- $28 = ""
insert into
  "Property" as r0 ("ListingKey", "City", "ListAgentKey", "ListOfficeKey")
select
  $1::text,
  $2::text,
  $3::text,
  $4::text
where
  (
    (
      (($5::text collate "C") is null)
      or (
        (($6::text collate "C") = ($7::text collate "C"))
        or (
          (
            (
              select
                via."OfficeKey"
              from
                "Member" via
              where
                via."MemberKey" = ($8::text collate "C")
            ) is not null
          )
          and (
            (
              (
                select
                  via."OfficeKey"
                from
                  "Member" via
                where
                  via."MemberKey" = ($9::text collate "C")
              ) = ($10::text collate "C")
            )
            or (
              (
                select
                  via."OfficeKey"
                from
                  "Member" via
                where
                  via."MemberKey" = ($11::text collate "C")
              ) is not distinct from (
                select
                  via."OfficeKey"
                from
                  "Member" via
                where
                  via."MemberKey" = ($12::text collate "C")
              )
            )
          )
        )
      )
    )
    and (
      (($13::text collate "C") is null)
      or (
        (
          (
            select
              via."MemberKey"
            from
              "Member" via
            where
              via."MemberKey" = ($14::text collate "C")
          ) is not null
        )
        or (
          (
            select
              via."OfficeKey"
            from
              "Member" via
            where
              via."MemberKey" = ($15::text collate "C")
          ) = ($16::text collate "C")
        )
        or (($17::text collate "C") = ($18::text collate "C"))
      )
    )
    and (
      (($19::text collate "C") = ($20::text collate "C"))
      or (($21::text collate "C") = ($22::text collate "C"))
      or (($23::text collate "C") = ($24::text collate "C"))
    )
    and (
      (
        select
          via."MemberKey"
        from
          "Member" via
        where
          via."MemberKey" = ($25::text collate "C")
      ) is not null
    )
    and (
      (
        (
          select
            via."MemberKey"
          from
            "Member" via
          where
            via."MemberKey" = ($26::text collate "C")
        ) is not null
      )
      or (
        (
          select
            via."OfficeKey"
          from
            "Office" via
          where
            via."OfficeKey" = ($27::text collate "C")
        ) is not null
      )
    )
  )
  and set_config('listing.writer', $28, true) is not null
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
