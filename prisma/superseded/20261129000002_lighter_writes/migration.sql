-- A change of one listing cost PostgreSQL 1.5 to 1.8 ms, half of it for what had not changed: where triggers run before a change, generated columns are computed anew
-- with each of them, and the texts of the SQL functions in them are parsed again.
-- Nothing of what the columns hold, nor of the log and its order, is different from here on.

-- Kept by triggers, which run only if a column is named that they rest on, or they themselves: nobody can write them to anything else.
ALTER TABLE "Property" ALTER COLUMN "SearchText" DROP EXPRESSION;
ALTER TABLE "Property" ALTER COLUMN "GeoLocation" DROP EXPRESSION;

CREATE FUNCTION write_search_text() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW."SearchText" := listing_text(NEW."PublicRemarks", NEW."City", NEW."CityRegion", NEW."SubdivisionName", NEW."CountyOrParish", NEW."PostalCode",
    NEW."MLSAreaMajor", NEW."PropertyType", NEW."PropertySubType", NEW."ListingId", NEW."ListAgentFullName", NEW."ListOfficeName", NEW."ElementarySchool",
    NEW."MiddleOrJuniorSchool", NEW."HighSchool", NEW."HighSchoolDistrict");
  RETURN NEW;
END
$$;
CREATE TRIGGER write_search_text BEFORE INSERT OR UPDATE OF "SearchText", "PublicRemarks", "City", "CityRegion", "SubdivisionName", "CountyOrParish", "PostalCode",
  "MLSAreaMajor", "PropertyType", "PropertySubType", "ListingId", "ListAgentFullName", "ListOfficeName", "ElementarySchool", "MiddleOrJuniorSchool", "HighSchool",
  "HighSchoolDistrict" ON "Property" FOR EACH ROW EXECUTE FUNCTION write_search_text();

CREATE FUNCTION write_position() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW."GeoLocation" := geo_json(NEW."Longitude", NEW."Latitude");
  RETURN NEW;
END
$$;
CREATE TRIGGER write_position BEFORE INSERT OR UPDATE OF "GeoLocation", "Longitude", "Latitude" ON "Property" FOR EACH ROW EXECUTE FUNCTION write_position();

-- Statements without variables keep their plans in every session, and so do expressions: these functions need no setting of their own for that.
CREATE OR REPLACE FUNCTION lock_change_log() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(4611686018427387904);
END
$$;

CREATE OR REPLACE FUNCTION next_change_time() RETURNS timestamptz LANGUAGE plpgsql AS $$
DECLARE
  milliseconds bigint;
BEGIN
  PERFORM lock_change_log();
  milliseconds := setval('change_clock', greatest(floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint, coalesce(pg_sequence_last_value('change_clock'), 0) + 1));
  RETURN timestamptz 'epoch' + milliseconds * interval '1 millisecond';
END
$$;
ALTER FUNCTION stamp_record() RESET plan_cache_mode;

-- Without TG_OP, which is a variable.
CREATE OR REPLACE FUNCTION log_property() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM lock_change_log();
  INSERT INTO "EntityEvent" ("EntityEventSequence", "ResourceName", "ResourceRecordKey", "ResourceRecordUrl", "PropertyKey",
    "StandardStatus", "ListAgentKey", "ListOfficeKey", "InternetEntireListingDisplayYN", "ChangedByMemberKey")
  SELECT nextval('entity_event_sequence'), 'Property', "ListingKey", record_url('Property', "ListingKey"), "ListingKey",
    "StandardStatus", "ListAgentKey", "ListOfficeKey", "InternetEntireListingDisplayYN", "ChangedByMemberKey"
  FROM changed;
  RETURN NULL;
END
$$;

CREATE FUNCTION log_removal() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM lock_change_log();
  INSERT INTO "EntityEvent" ("EntityEventSequence", "ResourceName", "ResourceRecordKey", "ResourceRecordUrl", "PropertyKey",
    "StandardStatus", "ListAgentKey", "ListOfficeKey", "InternetEntireListingDisplayYN")
  SELECT nextval('entity_event_sequence'), 'Property', "ListingKey", record_url('Property', "ListingKey"), "ListingKey",
    "StandardStatus", "ListAgentKey", "ListOfficeKey", "InternetEntireListingDisplayYN"
  FROM changed;
  RETURN NULL;
END
$$;
DROP TRIGGER log_delete ON "Property";
CREATE TRIGGER log_delete AFTER DELETE ON "Property" REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION log_removal();

-- The same text as before, joined from its parts: row_to_json asks the catalog for the type of every member of every record, which took twice the time.
-- PostgreSQL takes 100 arguments of a function.
CREATE OR REPLACE FUNCTION listing_document(p "Property") RETURNS text LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN concat(
    concat(
      '{"ListingKey":', coalesce(to_json(p."ListingKey")::text, 'null'),
      ',"ListingId":', coalesce(to_json(p."ListingId")::text, 'null'),
      ',"OriginatingSystemName":', coalesce(to_json(p."OriginatingSystemName")::text, 'null'),
      ',"OriginatingSystemKey":', coalesce(to_json(p."OriginatingSystemKey")::text, 'null'),
      ',"PropertyType":', coalesce(to_json(p."PropertyType")::text, 'null'),
      ',"PropertySubType":', coalesce(to_json(p."PropertySubType")::text, 'null'),
      ',"StandardStatus":', coalesce(to_json(p."StandardStatus")::text, 'null'),
      ',"MlsStatus":', coalesce(to_json(p."MlsStatus")::text, 'null'),
      ',"ModificationTimestamp":', coalesce('"' || to_char(p."ModificationTimestamp" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '"', 'null'),
      ',"OriginalEntryTimestamp":', coalesce('"' || to_char(p."OriginalEntryTimestamp" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '"', 'null'),
      ',"StatusChangeTimestamp":', coalesce('"' || to_char(p."StatusChangeTimestamp" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '"', 'null'),
      ',"MajorChangeTimestamp":', coalesce('"' || to_char(p."MajorChangeTimestamp" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '"', 'null'),
      ',"MajorChangeType":', coalesce(to_json(p."MajorChangeType")::text, 'null'),
      ',"PriceChangeTimestamp":', coalesce('"' || to_char(p."PriceChangeTimestamp" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '"', 'null'),
      ',"PhotosChangeTimestamp":', coalesce('"' || to_char(p."PhotosChangeTimestamp" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '"', 'null'),
      ',"PhotosCount":', coalesce(p."PhotosCount"::text, 'null'),
      ',"OnMarketDate":', coalesce(to_json(p."OnMarketDate")::text, 'null'),
      ',"OnMarketTimestamp":', coalesce('"' || to_char(p."OnMarketTimestamp" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '"', 'null'),
      ',"ListingContractDate":', coalesce(to_json(p."ListingContractDate")::text, 'null'),
      ',"ExpirationDate":', coalesce(to_json(p."ExpirationDate")::text, 'null'),
      ',"ContractStatusChangeDate":', coalesce(to_json(p."ContractStatusChangeDate")::text, 'null'),
      ',"PurchaseContractDate":', coalesce(to_json(p."PurchaseContractDate")::text, 'null'),
      ',"CloseDate":', coalesce(to_json(p."CloseDate")::text, 'null'),
      ',"DaysOnMarket":', coalesce(p."DaysOnMarket"::text, 'null'),
      ',"CumulativeDaysOnMarket":', coalesce(p."CumulativeDaysOnMarket"::text, 'null'),
      ',"ListPrice":', coalesce(to_json(trim_scale(p."ListPrice"))::text, 'null'),
      ',"OriginalListPrice":', coalesce(to_json(trim_scale(p."OriginalListPrice"))::text, 'null'),
      ',"PreviousListPrice":', coalesce(to_json(trim_scale(p."PreviousListPrice"))::text, 'null'),
      ',"City":', coalesce(to_json(p."City")::text, 'null'),
      ',"CountyOrParish":', coalesce(to_json(p."CountyOrParish")::text, 'null'),
      ',"StateOrProvince":', coalesce(to_json(p."StateOrProvince")::text, 'null'),
      ',"PostalCode":', coalesce(to_json(p."PostalCode")::text, 'null'),
      ',"Country":', coalesce(to_json(p."Country")::text, 'null'),
      ',"SubdivisionName":', coalesce(to_json(p."SubdivisionName")::text, 'null'),
      ',"MLSAreaMajor":', coalesce(to_json(p."MLSAreaMajor")::text, 'null'),
      ',"ListAgentKey":', coalesce(to_json(p."ListAgentKey")::text, 'null'),
      ',"ListAgentMlsId":', coalesce(to_json(p."ListAgentMlsId")::text, 'null'),
      ',"ListAgentFullName":', coalesce(to_json(p."ListAgentFullName")::text, 'null'),
      ',"ListOfficeKey":', coalesce(to_json(p."ListOfficeKey")::text, 'null'),
      ',"ListOfficeMlsId":', coalesce(to_json(p."ListOfficeMlsId")::text, 'null'),
      ',"ListOfficeName":', coalesce(to_json(p."ListOfficeName")::text, 'null'),
      ',"ListOfficePhone":', coalesce(to_json(p."ListOfficePhone")::text, 'null'),
      ',"CoListAgentKey":', coalesce(to_json(p."CoListAgentKey")::text, 'null'),
      ',"CoListOfficeKey":', coalesce(to_json(p."CoListOfficeKey")::text, 'null'),
      ',"BedroomsTotal":', coalesce(p."BedroomsTotal"::text, 'null')
    ),
    concat(
      ',"BathroomsTotalInteger":', coalesce(p."BathroomsTotalInteger"::text, 'null'),
      ',"BathroomsFull":', coalesce(p."BathroomsFull"::text, 'null'),
      ',"BathroomsHalf":', coalesce(p."BathroomsHalf"::text, 'null'),
      ',"RoomsTotal":', coalesce(p."RoomsTotal"::text, 'null'),
      ',"LivingArea":', coalesce(to_json(trim_scale(p."LivingArea"))::text, 'null'),
      ',"LivingAreaUnits":', coalesce(to_json(p."LivingAreaUnits")::text, 'null'),
      ',"BuildingAreaTotal":', coalesce(to_json(trim_scale(p."BuildingAreaTotal"))::text, 'null'),
      ',"BuildingAreaUnits":', coalesce(to_json(p."BuildingAreaUnits")::text, 'null'),
      ',"YearBuilt":', coalesce(p."YearBuilt"::text, 'null'),
      ',"Stories":', coalesce(p."Stories"::text, 'null'),
      ',"Levels":', CASE WHEN p."Levels" = '{}' THEN '[]' ELSE to_json(p."Levels")::text END,
      ',"LotSizeArea":', coalesce(to_json(trim_scale(p."LotSizeArea"))::text, 'null'),
      ',"LotSizeUnits":', coalesce(to_json(p."LotSizeUnits")::text, 'null'),
      ',"LotSizeAcres":', coalesce(to_json(trim_scale(p."LotSizeAcres"))::text, 'null'),
      ',"LotSizeSquareFeet":', coalesce(to_json(trim_scale(p."LotSizeSquareFeet"))::text, 'null'),
      ',"GarageSpaces":', coalesce(to_json(trim_scale(p."GarageSpaces"))::text, 'null'),
      ',"GarageYN":', coalesce(p."GarageYN"::text, 'null'),
      ',"NumberOfUnitsTotal":', coalesce(p."NumberOfUnitsTotal"::text, 'null'),
      ',"NewConstructionYN":', coalesce(p."NewConstructionYN"::text, 'null'),
      ',"PropertyAttachedYN":', coalesce(p."PropertyAttachedYN"::text, 'null'),
      ',"SeniorCommunityYN":', coalesce(p."SeniorCommunityYN"::text, 'null'),
      ',"ArchitecturalStyle":', CASE WHEN p."ArchitecturalStyle" = '{}' THEN '[]' ELSE to_json(p."ArchitecturalStyle")::text END,
      ',"ConstructionMaterials":', CASE WHEN p."ConstructionMaterials" = '{}' THEN '[]' ELSE to_json(p."ConstructionMaterials")::text END,
      ',"Roof":', CASE WHEN p."Roof" = '{}' THEN '[]' ELSE to_json(p."Roof")::text END,
      ',"FoundationDetails":', CASE WHEN p."FoundationDetails" = '{}' THEN '[]' ELSE to_json(p."FoundationDetails")::text END,
      ',"Basement":', CASE WHEN p."Basement" = '{}' THEN '[]' ELSE to_json(p."Basement")::text END,
      ',"Flooring":', CASE WHEN p."Flooring" = '{}' THEN '[]' ELSE to_json(p."Flooring")::text END,
      ',"Appliances":', CASE WHEN p."Appliances" = '{}' THEN '[]' ELSE to_json(p."Appliances")::text END,
      ',"InteriorFeatures":', CASE WHEN p."InteriorFeatures" = '{}' THEN '[]' ELSE to_json(p."InteriorFeatures")::text END,
      ',"ExteriorFeatures":', CASE WHEN p."ExteriorFeatures" = '{}' THEN '[]' ELSE to_json(p."ExteriorFeatures")::text END,
      ',"LotFeatures":', CASE WHEN p."LotFeatures" = '{}' THEN '[]' ELSE to_json(p."LotFeatures")::text END,
      ',"ParkingFeatures":', CASE WHEN p."ParkingFeatures" = '{}' THEN '[]' ELSE to_json(p."ParkingFeatures")::text END,
      ',"PatioAndPorchFeatures":', CASE WHEN p."PatioAndPorchFeatures" = '{}' THEN '[]' ELSE to_json(p."PatioAndPorchFeatures")::text END,
      ',"PoolFeatures":', CASE WHEN p."PoolFeatures" = '{}' THEN '[]' ELSE to_json(p."PoolFeatures")::text END,
      ',"PoolPrivateYN":', coalesce(p."PoolPrivateYN"::text, 'null'),
      ',"SpaFeatures":', CASE WHEN p."SpaFeatures" = '{}' THEN '[]' ELSE to_json(p."SpaFeatures")::text END,
      ',"FireplaceYN":', coalesce(p."FireplaceYN"::text, 'null'),
      ',"FireplacesTotal":', coalesce(p."FireplacesTotal"::text, 'null'),
      ',"Heating":', CASE WHEN p."Heating" = '{}' THEN '[]' ELSE to_json(p."Heating")::text END,
      ',"Cooling":', CASE WHEN p."Cooling" = '{}' THEN '[]' ELSE to_json(p."Cooling")::text END,
      ',"Sewer":', CASE WHEN p."Sewer" = '{}' THEN '[]' ELSE to_json(p."Sewer")::text END,
      ',"WaterSource":', CASE WHEN p."WaterSource" = '{}' THEN '[]' ELSE to_json(p."WaterSource")::text END,
      ',"Utilities":', CASE WHEN p."Utilities" = '{}' THEN '[]' ELSE to_json(p."Utilities")::text END,
      ',"View":', CASE WHEN p."View" = '{}' THEN '[]' ELSE to_json(p."View")::text END,
      ',"WaterfrontYN":', coalesce(p."WaterfrontYN"::text, 'null')
    ),
    concat(
      ',"AccessibilityFeatures":', CASE WHEN p."AccessibilityFeatures" = '{}' THEN '[]' ELSE to_json(p."AccessibilityFeatures")::text END,
      ',"AssociationYN":', coalesce(p."AssociationYN"::text, 'null'),
      ',"AssociationFee":', coalesce(to_json(trim_scale(p."AssociationFee"))::text, 'null'),
      ',"AssociationFeeFrequency":', coalesce(to_json(p."AssociationFeeFrequency")::text, 'null'),
      ',"TaxAnnualAmount":', coalesce(to_json(trim_scale(p."TaxAnnualAmount"))::text, 'null'),
      ',"TaxYear":', coalesce(p."TaxYear"::text, 'null'),
      ',"Zoning":', coalesce(to_json(p."Zoning")::text, 'null'),
      ',"ElementarySchool":', coalesce(to_json(p."ElementarySchool")::text, 'null'),
      ',"MiddleOrJuniorSchool":', coalesce(to_json(p."MiddleOrJuniorSchool")::text, 'null'),
      ',"HighSchool":', coalesce(to_json(p."HighSchool")::text, 'null'),
      ',"HighSchoolDistrict":', coalesce(to_json(p."HighSchoolDistrict")::text, 'null'),
      ',"PublicRemarks":', coalesce(to_json(p."PublicRemarks")::text, 'null'),
      ',"SpecialListingConditions":', CASE WHEN p."SpecialListingConditions" = '{}' THEN '[]' ELSE to_json(p."SpecialListingConditions")::text END,
      ',"VirtualTourURLUnbranded":', coalesce(to_json(p."VirtualTourURLUnbranded")::text, 'null'),
      ',"InternetEntireListingDisplayYN":', coalesce(p."InternetEntireListingDisplayYN"::text, 'null'),
      ',"InternetAddressDisplayYN":', coalesce(p."InternetAddressDisplayYN"::text, 'null'),
      ',"InternetAutomatedValuationDisplayYN":', coalesce(p."InternetAutomatedValuationDisplayYN"::text, 'null'),
      ',"InternetConsumerCommentYN":', coalesce(p."InternetConsumerCommentYN"::text, 'null'),
      ',"ContractStatus":', coalesce(to_json(p."ContractStatus")::text, 'null'),
      ',"TransactionType":', coalesce(to_json(p."TransactionType")::text, 'null'),
      ',"CityRegion":', coalesce(to_json(p."CityRegion")::text, 'null'),
      ',"MediaChangeTimestamp":', coalesce('"' || to_char(p."MediaChangeTimestamp" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '"', 'null'),
      ',"ParkingTotal":', coalesce(to_json(trim_scale(p."ParkingTotal"))::text, 'null'),
      ',"LaundryFeatures":', CASE WHEN p."LaundryFeatures" = '{}' THEN '[]' ELSE to_json(p."LaundryFeatures")::text END,
      ',"Furnished":', coalesce(to_json(p."Furnished")::text, 'null')
    ),
    '}'
  );
END
$$;
