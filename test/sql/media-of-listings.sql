-- Media?$filter=ResourceRecordKey in ('L1','L2','L3')&$orderby=ResourceRecordKey,Order&$top=1000

-- plan_cache_mode: custom
-- $1 = ["L1","L2","L3"]
select
  string_agg(page.json, E',\n') as "records",
  string_agg(page.cursor, E'\n') as "cursors",
  octet_length(to_json(string_agg(page.texts, ''))::text) = octet_length(string_agg(page.texts, '')) + 2 as "isExact"
from
  (
    select
      record.*
    from
      (
        select
          r0."MediaKey" as key,
          r0."ResourceRecordKey" as o0,
          r0."Order" as o1,
          r0."MediaKey" as o2
        from
          "Media" r0
        where
          (r0."ResourceRecordKey" = any ($1::text[]))
        order by
          o0 asc nulls first,
          o1 asc nulls first,
          o2 asc
        limit
          1001
      ) keys,
      lateral (
        select
          concat(
            '{',
            '"MediaKey":',
            coalesce('"' || (r0."MediaKey") || '"', 'null'),
            ',"ResourceName":',
            coalesce('"' || (r0."ResourceName") || '"', 'null'),
            ',"ResourceRecordKey":',
            coalesce('"' || (r0."ResourceRecordKey") || '"', 'null'),
            ',"ResourceRecordID":',
            coalesce('"' || (r0."ResourceRecordID") || '"', 'null'),
            ',"MediaObjectID":',
            coalesce('"' || (r0."MediaObjectID") || '"', 'null'),
            ',"MediaURL":',
            coalesce(to_json(r0."MediaURL")::text, 'null'),
            ',"MediaType":',
            coalesce('"' || (r0."MediaType") || '"', 'null'),
            ',"MediaCategory":',
            coalesce('"' || (r0."MediaCategory") || '"', 'null'),
            ',"MediaStatus":',
            coalesce('"' || (r0."MediaStatus") || '"', 'null'),
            ',"MediaModificationTimestamp":',
            coalesce('"' || (to_char(r0."MediaModificationTimestamp", 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) || '"', 'null'),
            ',"ModificationTimestamp":',
            coalesce('"' || (to_char(r0."ModificationTimestamp", 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) || '"', 'null'),
            ',"LastEventSequence":',
            coalesce((r0."LastEventSequence")::text, 'null'),
            ',"Order":',
            coalesce((r0."Order")::text, 'null'),
            ',"PreferredPhotoYN":',
            coalesce((r0."PreferredPhotoYN")::text, 'null'),
            ',"ShortDescription":',
            coalesce('"' || (r0."ShortDescription") || '"', 'null'),
            ',"LongDescription":',
            coalesce('"' || (r0."LongDescription") || '"', 'null'),
            ',"ImageHeight":',
            coalesce((r0."ImageHeight")::text, 'null'),
            ',"ImageWidth":',
            coalesce((r0."ImageWidth")::text, 'null'),
            ',"ImageSizeDescription":',
            coalesce('"' || (r0."ImageSizeDescription") || '"', 'null'),
            ',"ImageOf":',
            coalesce('"' || (r0."ImageOf") || '"', 'null'),
            ',"Permission":',
            coalesce(to_json(r0."Permission")::text, 'null'),
            ',"MediaHTML":',
            coalesce(to_json(r0."MediaHTML")::text, 'null'),
            ',"OriginatingSystemName":',
            coalesce('"' || (r0."OriginatingSystemName") || '"', 'null'),
            ',"OriginatingSystemMediaKey":',
            coalesce('"' || (r0."OriginatingSystemMediaKey") || '"', 'null'),
            '}'
          ) as json,
          concat(
            '[',
            coalesce('"' || ((keys.o0)::text) || '"', 'null'),
            ',',
            coalesce('"' || ((keys.o1)::text) || '"', 'null'),
            ',',
            coalesce('"' || ((keys.o2)::text) || '"', 'null'),
            ']'
          ) as cursor,
          concat(
            r0."MediaKey",
            r0."ResourceName",
            r0."ResourceRecordKey",
            r0."ResourceRecordID",
            r0."MediaObjectID",
            r0."MediaType",
            r0."MediaCategory",
            r0."MediaStatus",
            r0."ShortDescription",
            r0."LongDescription",
            r0."ImageSizeDescription",
            r0."ImageOf",
            r0."OriginatingSystemName",
            r0."OriginatingSystemMediaKey",
            (keys.o0)::text,
            (keys.o2)::text
          ) as texts
        from
          "Media" r0
        where
          r0."MediaKey" = keys.key
        limit
          1
      ) record
    order by
      keys.o0 asc nulls first,
      keys.o1 asc nulls first,
      keys.o2 asc
  ) page
