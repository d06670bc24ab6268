-- Property?$top=50

-- plan_cache_mode: generic
select
  concat(
    '{',
    '"ListingKey":',
    coalesce(to_json(r0."ListingKey")::text, 'null'),
    ',"StandardStatus":',
    coalesce(to_json(r0."StandardStatus")::text, 'null'),
    ',"MlsStatus":',
    coalesce(to_json(r0."MlsStatus")::text, 'null'),
    ',"ModificationTimestamp":',
    coalesce('"' || (to_char(r0."ModificationTimestamp", 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) || '"', 'null'),
    ',"LastEventSequence":',
    coalesce((r0."LastEventSequence")::text, 'null'),
    ',"StatusChangeTimestamp":',
    coalesce('"' || (to_char(r0."StatusChangeTimestamp", 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) || '"', 'null'),
    ',"MajorChangeTimestamp":',
    coalesce('"' || (to_char(r0."MajorChangeTimestamp", 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) || '"', 'null'),
    ',"MajorChangeType":',
    coalesce(to_json(r0."MajorChangeType")::text, 'null'),
    ',"PriceChangeTimestamp":',
    coalesce('"' || (to_char(r0."PriceChangeTimestamp", 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) || '"', 'null'),
    ',"OnMarketDate":',
    coalesce(to_json(r0."OnMarketDate")::text, 'null'),
    ',"OnMarketTimestamp":',
    coalesce('"' || (to_char(r0."OnMarketTimestamp", 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) || '"', 'null'),
    ',"ContractStatusChangeDate":',
    coalesce(to_json(r0."ContractStatusChangeDate")::text, 'null'),
    ',"CloseDate":',
    coalesce(to_json(r0."CloseDate")::text, 'null'),
    ',"ListPrice":',
    coalesce(
      case
        when trim_scale(r0."ListPrice") in ('NaN', 'Infinity', '-Infinity') then '"' || (trim_scale(r0."ListPrice"))::text || '"'
        else (trim_scale(r0."ListPrice"))::text
      end,
      'null'
    ),
    ',"OriginalListPrice":',
    coalesce(
      case
        when trim_scale(r0."OriginalListPrice") in ('NaN', 'Infinity', '-Infinity') then '"' || (trim_scale(r0."OriginalListPrice"))::text || '"'
        else (trim_scale(r0."OriginalListPrice"))::text
      end,
      'null'
    ),
    ',"PreviousListPrice":',
    coalesce(
      case
        when trim_scale(r0."PreviousListPrice") in ('NaN', 'Infinity', '-Infinity') then '"' || (trim_scale(r0."PreviousListPrice"))::text || '"'
        else (trim_scale(r0."PreviousListPrice"))::text
      end,
      'null'
    ),
    ',"ClosePrice":',
    coalesce(
      case
        when trim_scale(r0."ClosePrice") in ('NaN', 'Infinity', '-Infinity') then '"' || (trim_scale(r0."ClosePrice"))::text || '"'
        else (trim_scale(r0."ClosePrice"))::text
      end,
      'null'
    ),
    ',"StreetNumber":',
    coalesce(to_json(r0."StreetNumber")::text, 'null'),
    ',"StreetDirPrefix":',
    coalesce(to_json(r0."StreetDirPrefix")::text, 'null'),
    ',"StreetName":',
    coalesce(to_json(r0."StreetName")::text, 'null'),
    ',"StreetSuffix":',
    coalesce(to_json(r0."StreetSuffix")::text, 'null'),
    ',"StreetDirSuffix":',
    coalesce(to_json(r0."StreetDirSuffix")::text, 'null'),
    ',"UnitNumber":',
    coalesce(to_json(r0."UnitNumber")::text, 'null'),
    ',"UnparsedAddress":',
    coalesce(to_json(r0."UnparsedAddress")::text, 'null'),
    ',"Latitude":',
    coalesce(
      case
        when trim_scale(r0."Latitude") in ('NaN', 'Infinity', '-Infinity') then '"' || (trim_scale(r0."Latitude"))::text || '"'
        else (trim_scale(r0."Latitude"))::text
      end,
      'null'
    ),
    ',"Longitude":',
    coalesce(
      case
        when trim_scale(r0."Longitude") in ('NaN', 'Infinity', '-Infinity') then '"' || (trim_scale(r0."Longitude"))::text || '"'
        else (trim_scale(r0."Longitude"))::text
      end,
      'null'
    ),
    ',"Directions":',
    coalesce(to_json(r0."Directions")::text, 'null'),
    ',"ParcelNumber":',
    coalesce(to_json(r0."ParcelNumber")::text, 'null'),
    ',"BuyerAgentKey":',
    coalesce(to_json(r0."BuyerAgentKey")::text, 'null'),
    ',"BuyerAgentMlsId":',
    coalesce(to_json(r0."BuyerAgentMlsId")::text, 'null'),
    ',"BuyerAgentFullName":',
    coalesce(to_json(r0."BuyerAgentFullName")::text, 'null'),
    ',"BuyerOfficeKey":',
    coalesce(to_json(r0."BuyerOfficeKey")::text, 'null'),
    ',"BuyerOfficeName":',
    coalesce(to_json(r0."BuyerOfficeName")::text, 'null'),
    ',"PrivateRemarks":',
    coalesce(to_json(r0."PrivateRemarks")::text, 'null'),
    ',"ContractStatus":',
    coalesce(to_json(r0."ContractStatus")::text, 'null'),
    ',"SoldPrice":',
    coalesce(
      case
        when trim_scale(r0."SoldPrice") in ('NaN', 'Infinity', '-Infinity') then '"' || (trim_scale(r0."SoldPrice"))::text || '"'
        else (trim_scale(r0."SoldPrice"))::text
      end,
      'null'
    ),
    ',"GeoLocation":',
    coalesce(to_json(r0."GeoLocation")::text, 'null'),
    '}'
  ) as "json",
  coalesce(r0."Document", listing_document (r0)) as "document",
  concat('[', coalesce(to_json((r0."ListingKey")::text)::text, 'null'), ']') as "cursor"
from
  "Property" r0
order by
  r0."ListingKey" asc
limit
  51
