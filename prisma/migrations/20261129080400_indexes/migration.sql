-- Indexes. Each costs every write something, so there is one only for what clients ask often.
-- OData sorts null before every value. PostgreSQL reads ORDER BY x NULLS FIRST only from an index with NULLS FIRST, and DESC NULLS LAST from the same index backwards.
-- Each index ends with the key, which is the last term of every order. Prisma can declare only those without NULLS FIRST, INCLUDE, WHERE and expressions (schema.prisma).

-- Listings by time, which the replication walk reads, and searches among the newest ones. The included columns answer filters and permissions without the table.
CREATE INDEX "Property_ModificationTimestamp_ListingKey_idx" ON "Property" ("ModificationTimestamp", "ListingKey") INCLUDE ("StandardStatus", "InternetEntireListingDisplayYN", "ListAgentKey", "ListOfficeKey", "ListPrice", "StreetName");
CREATE INDEX "Property_StandardStatus_ModificationTimestamp_idx" ON "Property" ("StandardStatus" NULLS FIRST, "ModificationTimestamp", "ListingKey") INCLUDE ("InternetEntireListingDisplayYN", "ListAgentKey", "ListOfficeKey");

-- Listings by price.
CREATE INDEX "Property_City_ListPrice_idx" ON "Property" ("City" NULLS FIRST, "ListPrice" NULLS FIRST, "ListingKey") INCLUDE ("StandardStatus", "InternetEntireListingDisplayYN", "ListAgentKey", "ListOfficeKey");
CREATE INDEX "Property_ListPrice_idx" ON "Property" ("ListPrice" NULLS FIRST, "ListingKey");

-- Listings of an agent or office, and by their numbers and postal code.
CREATE INDEX "Property_ListAgentKey_idx" ON "Property" ("ListAgentKey" NULLS FIRST, "ListingKey");
CREATE INDEX "Property_ListOfficeKey_idx" ON "Property" ("ListOfficeKey" NULLS FIRST, "ListingKey");
CREATE INDEX "Property_ListingId_idx" ON "Property" ("ListingId" NULLS FIRST, "ListingKey");
CREATE INDEX "Property_OriginatingSystemKey_idx" ON "Property" ("OriginatingSystemKey" NULLS FIRST, "ListingKey");
CREATE INDEX "Property_PostalCode_idx" ON "Property" ("PostalCode" NULLS FIRST, "ListingKey");

-- Map boxes, distances and polygons. With an index on two numbers PostgreSQL can estimate the listings in a box. In the order of a distance those without a position come first.
CREATE INDEX "Property_Latitude_Longitude_StandardStatus_idx" ON "Property" ("Latitude" NULLS FIRST, "Longitude" NULLS FIRST, "StandardStatus" NULLS FIRST);
CREATE INDEX "Property_without_position_idx" ON "Property" ("ListingKey") WHERE "GeoLocation" IS NULL;

-- Words and parts of words. A search reads all entries that are not yet merged into a GIN index, so there are at most 256 KB of them. Materials are few words and merged at once.
CREATE EXTENSION IF NOT EXISTS pg_trgm;
CREATE INDEX "Property_SearchText_idx" ON "PropertyText" USING gin ("SearchText") WITH (gin_pending_list_limit = 256);
CREATE INDEX "Property_StreetName_trigram_idx" ON "Property" USING gin ((lower("StreetName" COLLATE "und-x-icu") COLLATE "C") gin_trgm_ops) WITH (gin_pending_list_limit = 256);
CREATE INDEX "Property_UnparsedAddress_trigram_idx" ON "Property" USING gin ((lower("UnparsedAddress" COLLATE "und-x-icu") COLLATE "C") gin_trgm_ops) WITH (gin_pending_list_limit = 256);
CREATE INDEX "Property_ConstructionMaterials_idx" ON "Property" USING gin ("ConstructionMaterials") WITH (fastupdate = off);

-- Related records of a record.
CREATE INDEX "Media_PropertyKey_MediaKey_idx" ON "Media" ("PropertyKey", "MediaKey");
CREATE INDEX "Media_PropertyKey_Order_idx" ON "Media" ("PropertyKey", "Order" NULLS FIRST, "MediaKey");
CREATE INDEX "Media_MemberKey_MediaKey_idx" ON "Media" ("MemberKey", "MediaKey");
CREATE INDEX "Media_OfficeKey_MediaKey_idx" ON "Media" ("OfficeKey", "MediaKey");
CREATE INDEX "Media_ResourceRecordKey_idx" ON "Media" ("ResourceRecordKey" NULLS FIRST, "MediaKey");
CREATE INDEX "Rooms_ListingKey_RoomKey_idx" ON "Rooms" ("ListingKey", "RoomKey");
CREATE INDEX "OpenHouse_ListingKey_OpenHouseKey_idx" ON "OpenHouse" ("ListingKey", "OpenHouseKey");

-- Other records by time, and the values of a lookup.
CREATE INDEX "Member_ModificationTimestamp_idx" ON "Member" ("ModificationTimestamp" NULLS FIRST, "MemberKey");
CREATE INDEX "Office_ModificationTimestamp_idx" ON "Office" ("ModificationTimestamp" NULLS FIRST, "OfficeKey");
CREATE INDEX "Media_ModificationTimestamp_idx" ON "Media" ("ModificationTimestamp" NULLS FIRST, "MediaKey");
CREATE INDEX "Rooms_ModificationTimestamp_idx" ON "Rooms" ("ModificationTimestamp" NULLS FIRST, "RoomKey");
CREATE INDEX "OpenHouse_ModificationTimestamp_idx" ON "OpenHouse" ("ModificationTimestamp" NULLS FIRST, "OpenHouseKey");
CREATE INDEX "OpenHouse_OpenHouseDate_idx" ON "OpenHouse" ("OpenHouseDate" NULLS FIRST, "OpenHouseKey");
CREATE INDEX "Lookup_ModificationTimestamp_idx" ON "Lookup" ("ModificationTimestamp" NULLS FIRST, "LookupKey");
CREATE INDEX "Lookup_LookupName_LookupValue_idx" ON "Lookup" ("LookupName", "LookupValue");

-- Events of a record and of a listing.
CREATE INDEX "EntityEvent_record_idx" ON "EntityEvent" ("ResourceName", "ResourceRecordKey", "EntityEventSequence");
CREATE INDEX "EntityEvent_PropertyKey_idx" ON "EntityEvent" ("PropertyKey", "EntityEventSequence");
