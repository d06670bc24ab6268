-- The model as records, which the service writes after its migrations (src/data/field-rows.ts).
CREATE TABLE "Field" (
  "FieldKey" TEXT COLLATE "C" NOT NULL,
  "ResourceName" TEXT COLLATE "C" NOT NULL,
  "FieldName" TEXT COLLATE "C" NOT NULL,
  "DisplayName" TEXT COLLATE "C",
  "Definition" TEXT COLLATE "C",
  "Type" TEXT COLLATE "C" NOT NULL,
  "LookupName" TEXT COLLATE "C",
  "CollectionYN" BOOLEAN NOT NULL,
  "ExpandableYN" BOOLEAN NOT NULL,
  "NullableYN" BOOLEAN NOT NULL,
  "Length" INTEGER,
  "Precision" INTEGER,
  "Scale" INTEGER,
  "ReadableYN" BOOLEAN NOT NULL,
  "OrderableYN" BOOLEAN NOT NULL,
  "UpdatableYN" BOOLEAN NOT NULL,
  "SearchableYN" BOOLEAN NOT NULL,
  "ModificationTimestamp" TIMESTAMPTZ(3) NOT NULL,
  "ReadableBy" TEXT COLLATE "C" NOT NULL,
  CONSTRAINT "Field_pkey" PRIMARY KEY ("FieldKey")
);
CREATE INDEX "Field_ResourceName_FieldName_idx" ON "Field" ("ResourceName", "FieldName");
