-- The part of a listing that every reader may see, as finished JSON beside the columns: a record of 135 fields is then read, not built, which was the larger part of
-- every full read. Kept by the database, so that it is current whoever writes. What depends on the reader is no part of it.

ALTER TABLE "Property" ADD COLUMN "Document" TEXT COLLATE "C";
-- Out of line and uncompressed: the row stays as small as it was for all who do not read it.
ALTER TABLE "Property" ALTER COLUMN "Document" SET STORAGE EXTERNAL;

-- Fields and forms are those of src/data/shape.ts; a test holds both against each other. The time zone is named, since a session of another program may have its own.
CREATE FUNCTION listing_document(p "Property") RETURNS text LANGUAGE plpgsql STABLE SET plan_cache_mode = force_generic_plan AS $$
BEGIN
  RETURN (
    SELECT row_to_json(record)::text FROM (SELECT
      p."ListingKey", p."ListingId", p."OriginatingSystemName", p."OriginatingSystemKey", p."PropertyType", p."PropertySubType", p."StandardStatus",
      p."MlsStatus", to_char(p."ModificationTimestamp" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS "ModificationTimestamp",
      to_char(p."OriginalEntryTimestamp" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS "OriginalEntryTimestamp",
      to_char(p."StatusChangeTimestamp" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS "StatusChangeTimestamp",
      to_char(p."MajorChangeTimestamp" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS "MajorChangeTimestamp", p."MajorChangeType",
      to_char(p."PriceChangeTimestamp" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS "PriceChangeTimestamp",
      to_char(p."PhotosChangeTimestamp" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS "PhotosChangeTimestamp", p."PhotosCount", p."OnMarketDate",
      to_char(p."OnMarketTimestamp" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS "OnMarketTimestamp", p."ListingContractDate",
      p."ExpirationDate", p."ContractStatusChangeDate", p."PurchaseContractDate", p."CloseDate", p."DaysOnMarket", p."CumulativeDaysOnMarket",
      trim_scale(p."ListPrice") AS "ListPrice", trim_scale(p."OriginalListPrice") AS "OriginalListPrice",
      trim_scale(p."PreviousListPrice") AS "PreviousListPrice", p."City", p."CountyOrParish", p."StateOrProvince", p."PostalCode", p."Country",
      p."SubdivisionName", p."MLSAreaMajor", p."ListAgentKey", p."ListAgentMlsId", p."ListAgentFullName", p."ListOfficeKey", p."ListOfficeMlsId",
      p."ListOfficeName", p."ListOfficePhone", p."CoListAgentKey", p."CoListOfficeKey", p."BedroomsTotal", p."BathroomsTotalInteger", p."BathroomsFull",
      p."BathroomsHalf", p."RoomsTotal", trim_scale(p."LivingArea") AS "LivingArea", p."LivingAreaUnits",
      trim_scale(p."BuildingAreaTotal") AS "BuildingAreaTotal", p."BuildingAreaUnits", p."YearBuilt", p."Stories", p."Levels",
      trim_scale(p."LotSizeArea") AS "LotSizeArea", p."LotSizeUnits", trim_scale(p."LotSizeAcres") AS "LotSizeAcres",
      trim_scale(p."LotSizeSquareFeet") AS "LotSizeSquareFeet", trim_scale(p."GarageSpaces") AS "GarageSpaces", p."GarageYN", p."NumberOfUnitsTotal",
      p."NewConstructionYN", p."PropertyAttachedYN", p."SeniorCommunityYN", p."ArchitecturalStyle", p."ConstructionMaterials", p."Roof",
      p."FoundationDetails", p."Basement", p."Flooring", p."Appliances", p."InteriorFeatures", p."ExteriorFeatures", p."LotFeatures", p."ParkingFeatures",
      p."PatioAndPorchFeatures", p."PoolFeatures", p."PoolPrivateYN", p."SpaFeatures", p."FireplaceYN", p."FireplacesTotal", p."Heating", p."Cooling",
      p."Sewer", p."WaterSource", p."Utilities", p."View", p."WaterfrontYN", p."AccessibilityFeatures", p."AssociationYN",
      trim_scale(p."AssociationFee") AS "AssociationFee", p."AssociationFeeFrequency", trim_scale(p."TaxAnnualAmount") AS "TaxAnnualAmount", p."TaxYear",
      p."Zoning", p."ElementarySchool", p."MiddleOrJuniorSchool", p."HighSchool", p."HighSchoolDistrict", p."PublicRemarks", p."SpecialListingConditions",
      p."VirtualTourURLUnbranded", p."InternetEntireListingDisplayYN", p."InternetAddressDisplayYN", p."InternetAutomatedValuationDisplayYN",
      p."InternetConsumerCommentYN", p."ContractStatus", p."TransactionType", p."CityRegion",
      to_char(p."MediaChangeTimestamp" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS "MediaChangeTimestamp",
      trim_scale(p."ParkingTotal") AS "ParkingTotal", p."LaundryFeatures", p."Furnished"
    ) record
  );
END
$$;

CREATE FUNCTION write_document() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW."Document" := listing_document(NEW);
  RETURN NEW;
END
$$;

-- Triggers run in the order of their names: this one sees what stamp_record has set.
CREATE TRIGGER write_document BEFORE INSERT OR UPDATE ON "Property" FOR EACH ROW EXECUTE FUNCTION write_document();

-- No record has changed for its readers: no new version, no event.
ALTER TABLE "Property" DISABLE TRIGGER USER;
UPDATE "Property" p SET "Document" = listing_document(p);
ALTER TABLE "Property" ENABLE TRIGGER USER;
