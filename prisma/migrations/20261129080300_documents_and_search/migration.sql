-- Columns that triggers compute: the stored JSON, position and search text of a listing, the parent of a media item, and the photo fields of a listing.

-- The JSON of the fields that every reader can read in every listing and that seldom change. src/data/sql/json/document-sql.ts renders the function
-- and its trigger from the model. concat() and to_json() take half the time of row_to_json(), which looks up the type of every member of every record.
-- A function of PostgreSQL takes at most 100 arguments, hence the groups.
CREATE FUNCTION listing_document(p "Property") RETURNS text LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN concat(
    concat(
      '{"ListingKey":', coalesce(to_json(p."ListingKey")::text, 'null'),
      ',"ListingId":', coalesce(to_json(p."ListingId")::text, 'null'),
      ',"OriginatingSystemName":', coalesce(to_json(p."OriginatingSystemName")::text, 'null'),
      ',"OriginatingSystemKey":', coalesce(to_json(p."OriginatingSystemKey")::text, 'null'),
      ',"PropertyType":', coalesce(to_json(p."PropertyType")::text, 'null'),
      ',"PropertySubType":', coalesce(to_json(p."PropertySubType")::text, 'null'),
      ',"OriginalEntryTimestamp":', coalesce('"' || to_char(p."OriginalEntryTimestamp" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '"', 'null'),
      ',"PhotosChangeTimestamp":', coalesce('"' || to_char(p."PhotosChangeTimestamp" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') || '"', 'null'),
      ',"PhotosCount":', coalesce(p."PhotosCount"::text, 'null'),
      ',"ListingContractDate":', coalesce(to_json(p."ListingContractDate")::text, 'null'),
      ',"ExpirationDate":', coalesce(to_json(p."ExpirationDate")::text, 'null'),
      ',"PurchaseContractDate":', coalesce(to_json(p."PurchaseContractDate")::text, 'null'),
      ',"DaysOnMarket":', coalesce(p."DaysOnMarket"::text, 'null'),
      ',"CumulativeDaysOnMarket":', coalesce(p."CumulativeDaysOnMarket"::text, 'null'),
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
      ',"BedroomsTotal":', coalesce(p."BedroomsTotal"::text, 'null'),
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
      ',"LotSizeAcres":', coalesce(to_json(trim_scale(p."LotSizeAcres"))::text, 'null')
    ),
    concat(
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
      ',"WaterfrontYN":', coalesce(p."WaterfrontYN"::text, 'null'),
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
      ',"VirtualTourURLUnbranded":', coalesce(to_json(p."VirtualTourURLUnbranded")::text, 'null')
    ),
    concat(
      ',"InternetEntireListingDisplayYN":', coalesce(p."InternetEntireListingDisplayYN"::text, 'null'),
      ',"InternetAddressDisplayYN":', coalesce(p."InternetAddressDisplayYN"::text, 'null'),
      ',"InternetAutomatedValuationDisplayYN":', coalesce(p."InternetAutomatedValuationDisplayYN"::text, 'null'),
      ',"InternetConsumerCommentYN":', coalesce(p."InternetConsumerCommentYN"::text, 'null'),
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

CREATE FUNCTION write_document() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW."Document" := listing_document(NEW);
  RETURN NEW;
END
$$;

-- Triggers run in the order of their names, so this one sees the values of stamp_record.
CREATE TRIGGER write_document BEFORE INSERT OR UPDATE OF
  "Document", "ListingKey", "ListingId", "OriginatingSystemName", "OriginatingSystemKey", "PropertyType", "PropertySubType", "OriginalEntryTimestamp",
  "PhotosChangeTimestamp", "PhotosCount", "ListingContractDate", "ExpirationDate", "PurchaseContractDate", "DaysOnMarket", "CumulativeDaysOnMarket",
  "City", "CountyOrParish", "StateOrProvince", "PostalCode", "Country", "SubdivisionName", "MLSAreaMajor", "ListAgentKey", "ListAgentMlsId",
  "ListAgentFullName", "ListOfficeKey", "ListOfficeMlsId", "ListOfficeName", "ListOfficePhone", "CoListAgentKey", "CoListOfficeKey", "BedroomsTotal",
  "BathroomsTotalInteger", "BathroomsFull", "BathroomsHalf", "RoomsTotal", "LivingArea", "LivingAreaUnits", "BuildingAreaTotal", "BuildingAreaUnits",
  "YearBuilt", "Stories", "Levels", "LotSizeArea", "LotSizeUnits", "LotSizeAcres", "LotSizeSquareFeet", "GarageSpaces", "GarageYN",
  "NumberOfUnitsTotal", "NewConstructionYN", "PropertyAttachedYN", "SeniorCommunityYN", "ArchitecturalStyle", "ConstructionMaterials", "Roof",
  "FoundationDetails", "Basement", "Flooring", "Appliances", "InteriorFeatures", "ExteriorFeatures", "LotFeatures", "ParkingFeatures",
  "PatioAndPorchFeatures", "PoolFeatures", "PoolPrivateYN", "SpaFeatures", "FireplaceYN", "FireplacesTotal", "Heating", "Cooling", "Sewer",
  "WaterSource", "Utilities", "View", "WaterfrontYN", "AccessibilityFeatures", "AssociationYN", "AssociationFee", "AssociationFeeFrequency",
  "TaxAnnualAmount", "TaxYear", "Zoning", "ElementarySchool", "MiddleOrJuniorSchool", "HighSchool", "HighSchoolDistrict", "PublicRemarks",
  "SpecialListingConditions", "VirtualTourURLUnbranded", "InternetEntireListingDisplayYN", "InternetAddressDisplayYN",
  "InternetAutomatedValuationDisplayYN", "InternetConsumerCommentYN", "TransactionType", "CityRegion", "MediaChangeTimestamp", "ParkingTotal",
  "LaundryFeatures", "Furnished"
  ON "Property" FOR EACH ROW EXECUTE FUNCTION write_document();

-- The position. Triggers are cheaper than generated columns, which PostgreSQL computes again with each change of any column.
CREATE FUNCTION write_position() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW."GeoLocation" := geo_json(NEW."Longitude", NEW."Latitude");
  RETURN NEW;
END
$$;

CREATE TRIGGER write_position BEFORE INSERT OR UPDATE OF "GeoLocation", "Longitude", "Latitude" ON "Property" FOR EACH ROW EXECUTE FUNCTION write_position();

-- The search text contains only fields that every reader can read, so neither the address nor private remarks.
CREATE FUNCTION keep_search_text() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  SELECT search_words(concat_ws(E'\n', p."PublicRemarks", p."City", p."CityRegion", p."SubdivisionName", p."CountyOrParish", p."PostalCode", p."MLSAreaMajor",
    p."PropertyType", p."PropertySubType", p."ListingId", p."ListAgentFullName", p."ListOfficeName", p."ElementarySchool", p."MiddleOrJuniorSchool", p."HighSchool",
    p."HighSchoolDistrict")) INTO NEW."SearchText" FROM "Property" p WHERE p."ListingKey" = NEW."ListingKey";
  RETURN NEW;
END
$$;

CREATE TRIGGER keep_search_text BEFORE INSERT OR UPDATE ON "PropertyText" FOR EACH ROW EXECUTE FUNCTION keep_search_text();

-- A new listing has no text yet, so there is none to look for.
CREATE FUNCTION write_search_text() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'UPDATE' THEN
    UPDATE "PropertyText" SET "SearchText" = NULL WHERE "ListingKey" = NEW."ListingKey";
  END IF;
  IF NOT FOUND THEN
    -- Only a writer without triggers leaves one behind.
    INSERT INTO "PropertyText" ("ListingKey") VALUES (NEW."ListingKey") ON CONFLICT ("ListingKey") DO UPDATE SET "SearchText" = NULL;
  END IF;
  RETURN NULL;
END
$$;

CREATE TRIGGER write_search_text AFTER INSERT OR UPDATE OF
  "PublicRemarks", "City", "CityRegion", "SubdivisionName", "CountyOrParish", "PostalCode", "MLSAreaMajor", "PropertyType", "PropertySubType",
  "ListingId", "ListAgentFullName", "ListOfficeName", "ElementarySchool", "MiddleOrJuniorSchool", "HighSchool", "HighSchoolDistrict"
  ON "Property" FOR EACH ROW EXECUTE FUNCTION write_search_text();

-- Media name their parent by resource and key. The hidden keys hold it as a foreign key, if the parent exists.
CREATE FUNCTION attach_media() RETURNS trigger LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
BEGIN
  NEW."PropertyKey" := NULL;
  NEW."MemberKey" := NULL;
  NEW."OfficeKey" := NULL;
  IF NEW."ResourceName" = 'Property' THEN
    SELECT "ListingKey" INTO NEW."PropertyKey" FROM "Property" WHERE "ListingKey" = NEW."ResourceRecordKey";
  ELSIF NEW."ResourceName" = 'Member' THEN
    SELECT "MemberKey" INTO NEW."MemberKey" FROM "Member" WHERE "MemberKey" = NEW."ResourceRecordKey";
  ELSIF NEW."ResourceName" = 'Office' THEN
    SELECT "OfficeKey" INTO NEW."OfficeKey" FROM "Office" WHERE "OfficeKey" = NEW."ResourceRecordKey";
  END IF;
  RETURN NEW;
END
$$;

CREATE TRIGGER attach_media BEFORE INSERT OR UPDATE OF "ResourceName", "ResourceRecordKey" ON "Media" FOR EACH ROW EXECUTE FUNCTION attach_media();

-- A parent that arrives after its media adopts them: an update of the column runs attach_media again. Most new listings find no such media.
CREATE FUNCTION adopt_media_of_property() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT FROM adopter a JOIN "Media" m ON m."ResourceRecordKey" = a."ListingKey" WHERE m."ResourceName" = 'Property' AND m."PropertyKey" IS NULL) THEN
    UPDATE "Media" m SET "ResourceRecordKey" = m."ResourceRecordKey" FROM adopter a
    WHERE m."ResourceRecordKey" = a."ListingKey" AND m."ResourceName" = 'Property' AND m."PropertyKey" IS NULL;
  END IF;
  RETURN NULL;
END
$$;

CREATE FUNCTION adopt_media_of_member() RETURNS trigger LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
BEGIN
  UPDATE "Media" m SET "ResourceRecordKey" = m."ResourceRecordKey" FROM adopter a
  WHERE m."ResourceRecordKey" = a."MemberKey" AND m."ResourceName" = 'Member' AND m."MemberKey" IS NULL;
  RETURN NULL;
END
$$;

CREATE FUNCTION adopt_media_of_office() RETURNS trigger LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
BEGIN
  UPDATE "Media" m SET "ResourceRecordKey" = m."ResourceRecordKey" FROM adopter a
  WHERE m."ResourceRecordKey" = a."OfficeKey" AND m."ResourceName" = 'Office' AND m."OfficeKey" IS NULL;
  RETURN NULL;
END
$$;

CREATE TRIGGER adopt_media AFTER INSERT ON "Property" REFERENCING NEW TABLE AS adopter FOR EACH STATEMENT EXECUTE FUNCTION adopt_media_of_property();
CREATE TRIGGER adopt_media AFTER INSERT ON "Member" REFERENCING NEW TABLE AS adopter FOR EACH STATEMENT EXECUTE FUNCTION adopt_media_of_member();
CREATE TRIGGER adopt_media AFTER INSERT ON "Office" REFERENCING NEW TABLE AS adopter FOR EACH STATEMENT EXECUTE FUNCTION adopt_media_of_office();

-- The number of a listing's photos and the time of their last change. An import brings these fields with it.
CREATE FUNCTION count_photos() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM changed) THEN
    RETURN NULL;
  END IF;
  IF NOT is_import() THEN
    UPDATE "Property" p SET
      "PhotosCount" = (SELECT count(*) FROM "Media" m WHERE m."PropertyKey" = p."ListingKey" AND m."MediaCategory" = 'Photo'),
      "PhotosChangeTimestamp" = date_trunc('milliseconds', clock_timestamp()),
      "MediaChangeTimestamp" = date_trunc('milliseconds', clock_timestamp())
    WHERE p."ListingKey" IN (SELECT "PropertyKey" FROM changed);
  END IF;
  RETURN NULL;
END
$$;

CREATE TRIGGER photos_insert AFTER INSERT ON "Media" REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION count_photos();
CREATE TRIGGER photos_update AFTER UPDATE ON "Media" REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION count_photos();
CREATE TRIGGER photos_delete AFTER DELETE ON "Media" REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION count_photos();
