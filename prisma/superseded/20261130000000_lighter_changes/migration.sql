-- A change of price or status made the whole document anew and wrote the whole search text into its index again, though neither text nor features had changed: more than
-- half of what PostgreSQL spent on it. What such changes write stands in no document from here on, and what is searched has a table of its own.
-- The table of listings is written anew once (one to two minutes for 200,000 of them, and their size once more on the disk), and locked meanwhile.

-- What $search looks through. A table, since every index of the listings is written with each of their changes.
CREATE TABLE "PropertyText" (
  "ListingKey" TEXT COLLATE "C" NOT NULL CONSTRAINT "PropertyText_pkey" PRIMARY KEY,
  "SearchText" tsvector
);
-- Who writes with triggers switched off leaves none.
INSERT INTO "PropertyText" SELECT "ListingKey", coalesce("SearchText", listing_text("PublicRemarks", "City", "CityRegion", "SubdivisionName", "CountyOrParish", "PostalCode",
  "MLSAreaMajor", "PropertyType", "PropertySubType", "ListingId", "ListAgentFullName", "ListOfficeName", "ElementarySchool", "MiddleOrJuniorSchool", "HighSchool",
  "HighSchoolDistrict")) FROM "Property";
ALTER TABLE "PropertyText" ADD CONSTRAINT "PropertyText_ListingKey_fkey" FOREIGN KEY ("ListingKey") REFERENCES "Property" ("ListingKey") ON UPDATE CASCADE ON DELETE CASCADE;

-- Who owns the listings, or may read and write them, may do the same here.
DO $$
DECLARE
  statement text;
BEGIN
  FOR statement IN
    SELECT format('ALTER TABLE "PropertyText" OWNER TO %I', pg_get_userbyid(relowner)) FROM pg_class WHERE oid = '"Property"'::regclass
    UNION ALL SELECT format('GRANT %s ON "PropertyText" TO %s%s', privilege_type, CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END,
      CASE WHEN is_grantable THEN ' WITH GRANT OPTION' ELSE '' END)
      FROM pg_class, aclexplode(relacl) WHERE oid = '"Property"'::regclass AND grantee <> relowner
  LOOP
    EXECUTE statement;
  END LOOP;
END
$$;

CREATE TEMP TABLE switched ON COMMIT DROP AS SELECT tgname, tgenabled FROM pg_trigger
  WHERE tgrelid = '"Property"'::regclass AND tgname IN ('write_search_text', 'write_document') AND tgenabled <> 'O';
DROP TRIGGER write_search_text ON "Property";
DROP TRIGGER write_document ON "Property";

-- The document without what changes of price and status write. src/data/stored.ts names the same fields; a test holds both against each other.
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

-- Changing the type rewrites the table in one go, each index once. Only a change of this kind has PostgreSQL compute the column anew.
ALTER TABLE "Property"
  DROP COLUMN "SearchText",
  ALTER COLUMN "Document" TYPE TEXT COLLATE "C" USING listing_document("Property".*),
  ALTER COLUMN "Document" SET STORAGE EXTERNAL;

CREATE TRIGGER write_document BEFORE INSERT OR UPDATE OF "Document", "ListingKey", "ListingId", "OriginatingSystemName", "OriginatingSystemKey", "PropertyType", "PropertySubType", "OriginalEntryTimestamp",
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

-- It keeps its name: it is the index of that column still.
CREATE INDEX "Property_SearchText_idx" ON "PropertyText" USING gin ("SearchText") WITH (gin_pending_list_limit = 256);

-- Whoever writes the text, it is that of its listing: what listing_text made of it. That function was parsed anew with each call.
DROP FUNCTION listing_text(text[]);
CREATE FUNCTION keep_search_text() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  SELECT to_tsvector('simple', concat_ws(E'\n', p."PublicRemarks", p."City", p."CityRegion", p."SubdivisionName", p."CountyOrParish", p."PostalCode", p."MLSAreaMajor",
    p."PropertyType", p."PropertySubType", p."ListingId", p."ListAgentFullName", p."ListOfficeName", p."ElementarySchool", p."MiddleOrJuniorSchool", p."HighSchool",
    p."HighSchoolDistrict")) INTO NEW."SearchText" FROM "Property" p WHERE p."ListingKey" = NEW."ListingKey";
  RETURN NEW;
END
$$;
CREATE TRIGGER keep_search_text BEFORE INSERT OR UPDATE ON "PropertyText" FOR EACH ROW EXECUTE FUNCTION keep_search_text();

CREATE OR REPLACE FUNCTION write_search_text() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  -- Inserted for a conflict, the text would be made twice.
  UPDATE "PropertyText" SET "SearchText" = NULL WHERE "ListingKey" = NEW."ListingKey";
  IF NOT FOUND THEN
    INSERT INTO "PropertyText" ("ListingKey") VALUES (NEW."ListingKey");
  END IF;
  RETURN NULL;
END
$$;
CREATE TRIGGER write_search_text AFTER INSERT OR UPDATE OF "PublicRemarks", "City", "CityRegion", "SubdivisionName", "CountyOrParish", "PostalCode", "MLSAreaMajor", "PropertyType", "PropertySubType", "ListingId",
  "ListAgentFullName", "ListOfficeName", "ElementarySchool", "MiddleOrJuniorSchool", "HighSchool", "HighSchoolDistrict"
  ON "Property" FOR EACH ROW EXECUTE FUNCTION write_search_text();

-- As they were switched before.
DO $$
DECLARE
  statement text;
BEGIN
  FOR statement IN SELECT format('ALTER TABLE "Property" %s TRIGGER %I', CASE tgenabled WHEN 'D' THEN 'DISABLE' WHEN 'R' THEN 'ENABLE REPLICA' ELSE 'ENABLE ALWAYS' END, tgname) FROM switched LOOP
    EXECUTE statement;
  END LOOP;
END
$$;

-- A statement that changed nothing has nothing to log or to count, and waits for nobody: so it is with media, rooms and open houses of most listings that are removed.
-- None of these functions has variables, so that they keep their plans by themselves.
DO $$
DECLARE
  name text;
BEGIN
  FOREACH name IN ARRAY ARRAY['log_property', 'log_removal', 'log_member', 'log_office', 'log_media', 'log_rooms', 'log_openhouse', 'count_photos'] LOOP
    EXECUTE replace(pg_get_functiondef(name::regproc), E'\nBEGIN\n', E'\nBEGIN\n  IF NOT EXISTS (SELECT FROM changed) THEN\n    RETURN NULL;\n  END IF;\n');
    EXECUTE format('ALTER FUNCTION %I() RESET plan_cache_mode', name);
  END LOOP;
END
$$;

-- New listings seldom find media that wait for them, and to look is half of what it takes to begin a change of media.
CREATE OR REPLACE FUNCTION adopt_media_of_property() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT FROM adopter a JOIN "Media" m ON m."ResourceRecordKey" = a."ListingKey" WHERE m."ResourceName" = 'Property' AND m."PropertyKey" IS NULL) THEN
    UPDATE "Media" m SET "ResourceRecordKey" = m."ResourceRecordKey" FROM adopter a
    WHERE m."ResourceRecordKey" = a."ListingKey" AND m."ResourceName" = 'Property' AND m."PropertyKey" IS NULL;
  END IF;
  RETURN NULL;
END
$$;

-- Statistics of 138 columns take seconds, and a market is not another one after each fiftieth change: as often as of other tables.
ALTER TABLE "Property" RESET (autovacuum_analyze_scale_factor);
ANALYZE "Property", "PropertyText";
