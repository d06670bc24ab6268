-- Indexes for what portals and agents' tools ask every day (test/market/front-end-queries.md). An index of every listing costs a change of price 7 µs of some 300 and
-- 100 bytes of WAL (docs/performance.md), so an index is partial where most listings are never asked for in its order.

-- Active listings: the newest ones, and by price per area.
CREATE INDEX "Property_active_OnMarketDate_idx" ON "Property" ("OnMarketDate" NULLS FIRST, "ListingKey") WHERE "StandardStatus" = 'Active';
CREATE INDEX "Property_active_price_per_area_idx" ON "Property" (("ListPrice" / nullif("LivingArea", 0)) NULLS FIRST, "ListingKey") WHERE "StandardStatus" = 'Active';
-- Sold listings, which seldom change.
CREATE INDEX "Property_CloseDate_idx" ON "Property" ("CloseDate" NULLS FIRST, "ListingKey") WHERE "CloseDate" IS NOT NULL;
-- Large, new and waterfront homes.
CREATE INDEX "Property_BedroomsTotal_ListPrice_idx" ON "Property" ("BedroomsTotal" DESC NULLS LAST, "ListPrice" NULLS FIRST, "ListingKey") WHERE "BedroomsTotal" >= 4;
CREATE INDEX "Property_YearBuilt_idx" ON "Property" ("YearBuilt" NULLS FIRST, "ListingKey") WHERE "YearBuilt" >= 2000;
CREATE INDEX "Property_waterfront_ListPrice_idx" ON "Property" ("ListPrice" NULLS FIRST, "ListingKey") WHERE "WaterfrontYN";

-- The listings of a city, the last changed first.
CREATE INDEX "Property_City_ModificationTimestamp_idx" ON "Property" ("City" NULLS FIRST, "ModificationTimestamp", "ListingKey");
-- A city in any case, as people type it.
CREATE INDEX "Property_City_lower_idx" ON "Property" ((lower("City" COLLATE "und-x-icu") COLLATE "C") NULLS FIRST, "ListingKey");
CREATE INDEX "Property_SubdivisionName_idx" ON "Property" ("SubdivisionName" NULLS FIRST, "ListingKey") WHERE "SubdivisionName" IS NOT NULL;
CREATE INDEX "Property_ListAgentMlsId_idx" ON "Property" ("ListAgentMlsId" NULLS FIRST, "ListingKey");

-- An agent's listings, the last changed first.
CREATE INDEX "Property_ListAgentKey_ModificationTimestamp_idx" ON "Property" ("ListAgentKey" NULLS FIRST, "ModificationTimestamp", "ListingKey");
DROP INDEX "Property_ListAgentKey_idx";

-- The members of an office.
CREATE INDEX "Member_OfficeKey_idx" ON "Member" ("OfficeKey" NULLS FIRST, "MemberKey");

-- Statistics of the new expressions.
ANALYZE "Property", "Member";
