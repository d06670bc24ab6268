-- A column is found by walking over those before it, for every row that is read: 2 µs for the last of 139, a tenth of what a page of listings cost, since the version,
-- of which ETags are made, stood near the end. What lists show, filters and permissions ask and indexes hold stands first from here on, whole records' JSON among it.
-- PostgreSQL cannot move columns: the table is written anew, with all that belongs to it as the catalog has it. It is locked meanwhile (some two minutes for
-- 200,000 listings), and views of others on it have to be dropped before and created again: with one of them this fails, and nothing of it is kept.

SET LOCAL synchronize_seqscans = off;

DO $$
DECLARE
  property CONSTANT oid := '"Property"'::regclass;
  foremost CONSTANT text[] := ARRAY['RecordVersion', 'ModificationTimestamp', 'ListingKey', 'ListingId', 'StandardStatus', 'PropertyType', 'PropertySubType', 'ListPrice',
    'StreetNumber', 'StreetName', 'City', 'StateOrProvince', 'PostalCode', 'BedroomsTotal', 'BathroomsTotalInteger', 'LivingArea', 'InternetEntireListingDisplayYN',
    'ListAgentKey', 'ListOfficeKey', 'Document', 'MlsStatus', 'OriginatingSystemKey', 'UnparsedAddress', 'YearBuilt', 'PhotosCount', 'Latitude', 'Longitude',
    'ConstructionMaterials'];
  names CONSTANT text := (SELECT string_agg(quote_ident(attname), ', ' ORDER BY array_position(foremost, attname::text), attnum)
    FROM pg_attribute WHERE attrelid = property AND attnum > 0 AND NOT attisdropped);
  -- In an order in which each finds what it rests on: columns before there are rows, and all else when the table has its name.
  -- From PostgreSQL 18 on, that a column is never null is a constraint with a name.
  columns CONSTANT text[] := (SELECT array_agg(format('ALTER TABLE "Property_in_order" ALTER COLUMN %I %s', attname, change)) FROM (
    SELECT attname, unnest(ARRAY[
      CASE WHEN attnotnull AND NOT EXISTS (SELECT FROM pg_constraint WHERE conrelid = property AND contype = 'n') THEN 'SET NOT NULL' END,
      CASE WHEN atthasdef THEN 'SET DEFAULT ' || (SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid = property AND adnum = attnum) END,
      CASE attstorage WHEN 'e' THEN 'SET STORAGE EXTERNAL' WHEN 'm' THEN 'SET STORAGE MAIN' END
    ]) AS change FROM pg_attribute WHERE attrelid = property AND attnum > 0 AND NOT attisdropped
  ) changes WHERE change IS NOT NULL);
  obstacles CONSTANT text[] := (SELECT array_agg(statement) FROM (
    SELECT format('ALTER TABLE %s DROP CONSTRAINT %I', conrelid::regclass, conname) AS statement FROM pg_constraint WHERE confrelid = property
    UNION ALL SELECT format('DROP FUNCTION %s', oid::regprocedure) FROM pg_proc WHERE (SELECT reltype FROM pg_class WHERE oid = property) = ANY (proargtypes)
  ) statements);
  belongings CONSTANT text[] := (SELECT array_agg(statement ORDER BY step, id) FROM (
    SELECT CASE contype WHEN 'n' THEN 0 ELSE 1 END AS step, oid AS id, format('ALTER TABLE "Property" ADD CONSTRAINT %I %s', conname, pg_get_constraintdef(oid)) AS statement
      FROM pg_constraint WHERE conrelid = property AND contype <> 'f'
    UNION ALL SELECT 2, indexrelid, pg_get_indexdef(indexrelid) FROM pg_index
      WHERE indrelid = property AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = indexrelid AND conrelid = property)
    UNION ALL SELECT 3, oid, format('ALTER TABLE %s ADD CONSTRAINT %I %s', conrelid::regclass, conname, pg_get_constraintdef(oid))
      FROM pg_constraint WHERE contype = 'f' AND property IN (conrelid, confrelid)
    UNION ALL SELECT 4, oid, pg_get_functiondef(oid) FROM pg_proc WHERE (SELECT reltype FROM pg_class WHERE oid = property) = ANY (proargtypes)
    UNION ALL SELECT 5, oid, pg_get_triggerdef(oid) FROM pg_trigger WHERE tgrelid = property AND NOT tgisinternal
    UNION ALL SELECT 6, attnum::oid, format('COMMENT ON COLUMN "Property".%I IS %L', attname, col_description(property, attnum))
      FROM pg_attribute WHERE attrelid = property AND col_description(property, attnum) IS NOT NULL
    UNION ALL SELECT 7, 0::oid, format('GRANT %s ON "Property" TO %s%s', privilege_type,
      CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END, CASE WHEN is_grantable THEN ' WITH GRANT OPTION' ELSE '' END)
      FROM pg_class, aclexplode(relacl) WHERE oid = property AND grantee <> relowner
  ) statements);
  statement text;
BEGIN
  LOCK TABLE "Property" IN ACCESS EXCLUSIVE MODE;
  EXECUTE format('CREATE TABLE "Property_in_order" AS SELECT %s FROM "Property" WITH NO DATA', names);
  FOREACH statement IN ARRAY columns LOOP EXECUTE statement; END LOOP;
  EXECUTE format('INSERT INTO "Property_in_order" SELECT %s FROM "Property"', names);
  FOREACH statement IN ARRAY obstacles LOOP EXECUTE statement; END LOOP;
  DROP TABLE "Property";
  ALTER TABLE "Property_in_order" RENAME TO "Property";
  FOREACH statement IN ARRAY belongings LOOP EXECUTE statement; END LOOP;
END
$$;

-- Counts go through indexes alone only where VACUUM has been, and it should not wait for a fifth of a large table to change.
ALTER TABLE "Property" SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);
-- What is not yet in a GIN index is looked through by each search in it: 4 MB of that took 1.8 ms of a search of 0.1 ms. Materials are few words, and go in at once.
ALTER INDEX "Property_ConstructionMaterials_idx" SET (fastupdate = off);
ALTER INDEX "Property_SearchText_idx" SET (gin_pending_list_limit = 256);
ALTER INDEX "Property_StreetName_trigram_idx" SET (gin_pending_list_limit = 256);
ALTER INDEX "Property_UnparsedAddress_trigram_idx" SET (gin_pending_list_limit = 256);
ANALYZE "Property";
