-- What the newest listings are searched by stands in the index of times: PostgreSQL walks over the index alone, and looks at none of the records that it leaves out.
-- Who may see a listing stands there too.
DROP INDEX "Property_ModificationTimestamp_ListingKey_idx";
CREATE INDEX "Property_ModificationTimestamp_ListingKey_idx" ON "Property" ("ModificationTimestamp", "ListingKey")
  INCLUDE ("StandardStatus", "InternetEntireListingDisplayYN", "ListAgentKey", "ListOfficeKey", "ListPrice", "City", "StreetName");

-- The words of addresses beside the text of $search: their index was a sixth of what PostgreSQL spent on a change of price.
ALTER TABLE "PropertyText" ADD COLUMN "UnparsedAddress" TEXT COLLATE "C";
-- Changing the type writes the table anew in one go, where an UPDATE would leave it twice as large.
CREATE FUNCTION pg_temp.address_of(key text) RETURNS text LANGUAGE sql STABLE AS 'SELECT "UnparsedAddress" FROM "Property" WHERE "ListingKey" = key';
ALTER TABLE "PropertyText" ALTER COLUMN "UnparsedAddress" TYPE TEXT COLLATE "C" USING pg_temp.address_of("ListingKey");
DROP FUNCTION pg_temp.address_of;
DROP INDEX "Property_UnparsedAddress_trigram_idx";
-- It keeps its name: it is the index of that column still.
CREATE INDEX "Property_UnparsedAddress_trigram_idx" ON "PropertyText" USING gin ((lower("UnparsedAddress" COLLATE "und-x-icu") COLLATE "C") gin_trgm_ops)
  WITH (gin_pending_list_limit = 256);

CREATE OR REPLACE FUNCTION keep_search_text() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  SELECT p."UnparsedAddress", to_tsvector('simple', concat_ws(E'\n', p."PublicRemarks", p."City", p."CityRegion", p."SubdivisionName", p."CountyOrParish", p."PostalCode",
    p."MLSAreaMajor", p."PropertyType", p."PropertySubType", p."ListingId", p."ListAgentFullName", p."ListOfficeName", p."ElementarySchool", p."MiddleOrJuniorSchool",
    p."HighSchool", p."HighSchoolDistrict")) INTO NEW."UnparsedAddress", NEW."SearchText" FROM "Property" p WHERE p."ListingKey" = NEW."ListingKey";
  RETURN NEW;
END
$$;

CREATE OR REPLACE FUNCTION write_search_text() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'UPDATE' THEN
    UPDATE "PropertyText" SET "SearchText" = NULL WHERE "ListingKey" = NEW."ListingKey";
  END IF;
  -- One that is there when a listing is new was left by a writer without triggers.
  IF NOT FOUND THEN
    INSERT INTO "PropertyText" ("ListingKey") VALUES (NEW."ListingKey") ON CONFLICT ("ListingKey") DO UPDATE SET "SearchText" = NULL;
  END IF;
  RETURN NULL;
END
$$;

CREATE TEMP TABLE switched ON COMMIT DROP AS SELECT tgname, tgenabled FROM pg_trigger
  WHERE tgrelid = '"Property"'::regclass AND tgname = 'write_search_text' AND tgenabled <> 'O';
CREATE OR REPLACE TRIGGER write_search_text AFTER INSERT OR UPDATE OF "PublicRemarks", "City", "CityRegion", "SubdivisionName", "CountyOrParish", "PostalCode", "MLSAreaMajor",
  "PropertyType", "PropertySubType", "ListingId", "ListAgentFullName", "ListOfficeName", "ElementarySchool", "MiddleOrJuniorSchool", "HighSchool", "HighSchoolDistrict",
  "UnparsedAddress"
  ON "Property" FOR EACH ROW EXECUTE FUNCTION write_search_text();
-- As it was switched before.
DO $$
DECLARE
  statement text;
BEGIN
  FOR statement IN SELECT format('ALTER TABLE "Property" %s TRIGGER %I', CASE tgenabled WHEN 'D' THEN 'DISABLE' WHEN 'R' THEN 'ENABLE REPLICA' ELSE 'ENABLE ALWAYS' END, tgname) FROM switched LOOP
    EXECUTE statement;
  END LOOP;
END
$$;
ANALYZE "Property", "PropertyText";
