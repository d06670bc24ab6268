-- Indexes for what front ends ask while somebody types or ticks a box. The expressions are those that src/data/served.ts writes.
-- Every index costs each write something: other fields get one when a market asks by them.

CREATE EXTENSION IF NOT EXISTS pg_trgm;

CREATE INDEX "Property_UnparsedAddress_trigram_idx" ON "Property" USING gin ((lower("UnparsedAddress" COLLATE "und-x-icu") COLLATE "C") gin_trgm_ops);
CREATE INDEX "Property_StreetName_trigram_idx" ON "Property" USING gin ((lower("StreetName" COLLATE "und-x-icu") COLLATE "C") gin_trgm_ops);

CREATE INDEX "Property_ConstructionMaterials_idx" ON "Property" USING gin ("ConstructionMaterials");
