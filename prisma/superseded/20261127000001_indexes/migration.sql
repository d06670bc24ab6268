-- Indexes that Prisma cannot declare. OData sorts null below every value, and PostgreSQL serves ORDER BY x NULLS FIRST
-- only from an index that says NULLS FIRST; read backwards it serves DESC NULLS LAST. Each ends with the key, the last term
-- of every order. test/database/drift.test.ts holds the same list.

CREATE INDEX "Property_City_ListPrice_idx" ON "Property" ("City" NULLS FIRST, "ListPrice" NULLS FIRST, "ListingKey");
CREATE INDEX "Property_StandardStatus_ModificationTimestamp_idx" ON "Property" ("StandardStatus" NULLS FIRST, "ModificationTimestamp", "ListingKey");
CREATE INDEX "Property_ListPrice_idx" ON "Property" ("ListPrice" NULLS FIRST, "ListingKey");
CREATE INDEX "Property_ListAgentKey_idx" ON "Property" ("ListAgentKey" NULLS FIRST, "ListingKey");
CREATE INDEX "Property_ListOfficeKey_idx" ON "Property" ("ListOfficeKey" NULLS FIRST, "ListingKey");
CREATE INDEX "Member_ModificationTimestamp_idx" ON "Member" ("ModificationTimestamp" NULLS FIRST, "MemberKey");
CREATE INDEX "Office_ModificationTimestamp_idx" ON "Office" ("ModificationTimestamp" NULLS FIRST, "OfficeKey");
CREATE INDEX "Media_PropertyKey_Order_idx" ON "Media" ("PropertyKey", "Order" NULLS FIRST, "MediaKey");
CREATE INDEX "Media_ResourceRecordKey_idx" ON "Media" ("ResourceRecordKey" NULLS FIRST, "MediaKey");
CREATE INDEX "Media_ModificationTimestamp_idx" ON "Media" ("ModificationTimestamp" NULLS FIRST, "MediaKey");
CREATE INDEX "Rooms_ModificationTimestamp_idx" ON "Rooms" ("ModificationTimestamp" NULLS FIRST, "RoomKey");
CREATE INDEX "OpenHouse_ModificationTimestamp_idx" ON "OpenHouse" ("ModificationTimestamp" NULLS FIRST, "OpenHouseKey");
CREATE INDEX "OpenHouse_OpenHouseDate_idx" ON "OpenHouse" ("OpenHouseDate" NULLS FIRST, "OpenHouseKey");
CREATE INDEX "Lookup_ModificationTimestamp_idx" ON "Lookup" ("ModificationTimestamp" NULLS FIRST, "LookupKey");
CREATE INDEX "EntityEvent_record_idx" ON "EntityEvent" ("ResourceName", "ResourceRecordKey", "EntityEventSequence");
CREATE INDEX "EntityEvent_PropertyKey_idx" ON "EntityEvent" ("PropertyKey", "EntityEventSequence");
