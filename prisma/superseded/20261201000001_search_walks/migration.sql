-- What the newest listings are searched by stands in the index of times: PostgreSQL walks over the index alone, and looks at none of the records that it leaves out.
-- Who may see a listing stands there too.
DROP INDEX "Property_ModificationTimestamp_ListingKey_idx";
CREATE INDEX "Property_ModificationTimestamp_ListingKey_idx" ON "Property" ("ModificationTimestamp", "ListingKey")
  INCLUDE ("StandardStatus", "InternetEntireListingDisplayYN", "ListAgentKey", "ListOfficeKey", "ListPrice", "StreetName");

-- A new listing has no text yet, so there is no need to look for one.
CREATE OR REPLACE FUNCTION write_search_text() RETURNS trigger LANGUAGE plpgsql AS $$
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
ANALYZE "Property";
