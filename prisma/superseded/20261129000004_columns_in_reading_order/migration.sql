-- A column is found by walking over those before it, for every row that is read: 2 µs for the last of 139, a tenth of what a page of listings cost, since the version,
-- of which ETags are made, stood near the end. What lists show, filters and permissions ask and indexes hold stands first from here on, whole records' JSON among it.
-- PostgreSQL cannot move columns: the table is written anew, with what belongs to it as the catalog has it. It is locked meanwhile (one to two minutes for 200,000
-- listings, and their size once more on the disk). What this cannot carry over is named, and has to be taken away before and set up again: nothing is lost without a word.

LOCK TABLE "Property" IN ACCESS EXCLUSIVE MODE;
-- The rows keep their places, so that those that were written together stay together.
SET LOCAL synchronize_seqscans = off;

DO $$
DECLARE
  property CONSTANT oid := '"Property"'::regclass;
  reason text;
BEGIN
  -- Rows that others committed while the lock was waited for would not be seen.
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE EXCEPTION 'this migration has to run in a transaction that is read committed';
  END IF;
  SELECT string_agg(what, ', ') INTO reason FROM (
    SELECT 'row security' AS what FROM pg_class WHERE oid = property AND (relrowsecurity OR EXISTS (SELECT FROM pg_policy WHERE polrelid = property))
    UNION ALL SELECT 'publication ' || pubname FROM pg_publication_rel JOIN pg_publication p ON p.oid = prpubid WHERE prrelid = property
    UNION ALL SELECT 'replica identity' FROM pg_class WHERE oid = property AND relreplident <> 'd'
    UNION ALL SELECT 'statistics ' || stxname FROM pg_statistic_ext WHERE stxrelid = property
    UNION ALL SELECT 'rule ' || rulename FROM pg_rewrite WHERE ev_class = property
    UNION ALL SELECT 'tablespace of ' || relname FROM pg_class
      WHERE reltablespace <> 0 AND (oid = property OR oid IN (SELECT indexrelid FROM pg_index WHERE indrelid = property))
    UNION ALL SELECT 'storage parameters' FROM pg_class WHERE oid = property AND (reloptions IS NOT NULL OR relpersistence <> 'p')
    UNION ALL SELECT 'inheritance' FROM pg_inherits WHERE property IN (inhrelid, inhparent)
  ) found;
  IF reason IS NOT NULL THEN
    RAISE EXCEPTION 'the table "Property" has what this migration cannot carry over: %', reason USING HINT = 'Take it away, migrate, and set it up again.';
  END IF;
END
$$;

DO $$
DECLARE
  property CONSTANT oid := '"Property"'::regclass;
  kind CONSTANT oid := (SELECT reltype FROM pg_class WHERE oid = property);
  owner CONSTANT oid := (SELECT relowner FROM pg_class WHERE oid = property);
  foremost CONSTANT text[] := ARRAY['RecordVersion', 'ModificationTimestamp', 'ListingKey', 'ListingId', 'StandardStatus', 'PropertyType', 'PropertySubType', 'ListPrice',
    'StreetNumber', 'StreetName', 'City', 'StateOrProvince', 'PostalCode', 'BedroomsTotal', 'BathroomsTotalInteger', 'LivingArea', 'InternetEntireListingDisplayYN',
    'ListAgentKey', 'ListOfficeKey', 'Document', 'MlsStatus', 'OriginatingSystemKey', 'UnparsedAddress', 'YearBuilt', 'PhotosCount', 'Latitude', 'Longitude',
    'ConstructionMaterials'];
  names CONSTANT text := (SELECT string_agg(quote_ident(attname), ', ' ORDER BY array_position(foremost, attname::text), attnum)
    FROM pg_attribute WHERE attrelid = property AND attnum > 0 AND NOT attisdropped);
  -- From PostgreSQL 18 on, that a column is never null is a constraint with a name.
  columns CONSTANT text[] := (SELECT array_agg(format('ALTER TABLE "Property_in_order" ALTER COLUMN %I %s', attname, change)) FROM (
    SELECT attname, unnest(ARRAY[
      CASE WHEN attnotnull AND NOT EXISTS (SELECT FROM pg_constraint WHERE conrelid = property AND contype = 'n') THEN 'SET NOT NULL' END,
      CASE WHEN atthasdef THEN 'SET DEFAULT ' || (SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid = property AND adnum = attnum) END,
      CASE attstorage WHEN 'e' THEN 'SET STORAGE EXTERNAL' WHEN 'm' THEN 'SET STORAGE MAIN' END
    ]) AS change FROM pg_attribute WHERE attrelid = property AND attnum > 0 AND NOT attisdropped
  ) changes WHERE change IS NOT NULL);
  obstacles CONSTANT text[] := (SELECT array_agg(statement) FROM (
    SELECT format('ALTER TABLE %s DROP CONSTRAINT %I', conrelid::regclass, conname) AS statement FROM pg_constraint WHERE confrelid = property AND conrelid <> property
    UNION ALL SELECT format('DROP FUNCTION %s', oid::regprocedure) FROM pg_proc WHERE kind = ANY (proargtypes)
  ) statements);
  -- In an order in which each finds what it rests on.
  belongings CONSTANT text[] := (SELECT array_agg(statement ORDER BY step, id) FROM (
    SELECT 0 AS step, 0::oid AS id, format('ALTER TABLE "Property" OWNER TO %I', pg_get_userbyid(owner)) AS statement
    UNION ALL SELECT CASE contype WHEN 'n' THEN 1 ELSE 2 END, oid, format('ALTER TABLE "Property" ADD CONSTRAINT %I %s', conname, pg_get_constraintdef(oid))
      FROM pg_constraint WHERE conrelid = property AND contype IN ('n', 'p', 'u', 'c', 'x')
    UNION ALL SELECT 3, indexrelid, pg_get_indexdef(indexrelid) FROM pg_index
      WHERE indrelid = property AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = indexrelid AND conrelid = property AND contype <> 'f')
    UNION ALL SELECT 4, oid, format('ALTER TABLE %s ADD CONSTRAINT %I %s', conrelid::regclass, conname, pg_get_constraintdef(oid))
      FROM pg_constraint WHERE contype = 'f' AND property IN (conrelid, confrelid)
    UNION ALL SELECT 5, oid, pg_get_functiondef(oid) FROM pg_proc WHERE kind = ANY (proargtypes)
    UNION ALL SELECT 6, oid, format('ALTER FUNCTION %s OWNER TO %I', oid::regprocedure, pg_get_userbyid(proowner)) FROM pg_proc WHERE kind = ANY (proargtypes)
    UNION ALL SELECT 7, oid, pg_get_triggerdef(oid) FROM pg_trigger WHERE tgrelid = property AND NOT tgisinternal
    UNION ALL SELECT 8, oid, format('ALTER TABLE "Property" %s TRIGGER %I', CASE tgenabled WHEN 'D' THEN 'DISABLE' WHEN 'R' THEN 'ENABLE REPLICA' ELSE 'ENABLE ALWAYS' END, tgname)
      FROM pg_trigger WHERE tgrelid = property AND NOT tgisinternal AND tgenabled <> 'O'
    UNION ALL SELECT 9, attnum::oid, format('COMMENT ON COLUMN "Property".%I IS %L', attname, col_description(property, attnum))
      FROM pg_attribute WHERE attrelid = property AND col_description(property, attnum) IS NOT NULL
    UNION ALL SELECT 9, 0::oid, format('COMMENT ON TABLE "Property" IS %L', obj_description(property, 'pg_class')) WHERE obj_description(property, 'pg_class') IS NOT NULL
    -- What the privileges for new tables have given is not what this one had.
    UNION ALL SELECT 10, 0::oid, format('REVOKE ALL ON "Property" FROM %s', CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END)
      FROM pg_default_acl, aclexplode(defaclacl) WHERE defaclobjtype = 'r' AND grantee <> owner
    UNION ALL SELECT 11, 0::oid, format('GRANT %s ON "Property" TO %s%s', privilege_type,
      CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END, CASE WHEN is_grantable THEN ' WITH GRANT OPTION' ELSE '' END)
      FROM pg_class, aclexplode(relacl) WHERE oid = property AND grantee <> owner
    UNION ALL SELECT 12, attnum::oid, format('GRANT %s (%I) ON "Property" TO %s%s', privilege_type, attname,
      CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END, CASE WHEN is_grantable THEN ' WITH GRANT OPTION' ELSE '' END)
      FROM pg_attribute, aclexplode(attacl) WHERE attrelid = property AND attnum > 0 AND NOT attisdropped AND grantee <> owner
  ) statements);
  statement text;
BEGIN
  EXECUTE format('CREATE TABLE "Property_in_order" AS SELECT %s FROM "Property" WITH NO DATA', names);
  FOREACH statement IN ARRAY columns LOOP EXECUTE statement; END LOOP;
  EXECUTE format('INSERT INTO "Property_in_order" SELECT %s FROM "Property"', names);
  FOREACH statement IN ARRAY coalesce(obstacles, '{}') LOOP EXECUTE statement; END LOOP;
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
