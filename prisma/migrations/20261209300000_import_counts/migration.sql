-- The number of records that imports have created, updated and removed, for the metrics. Each transaction of an import adds to it
-- (src/data/import/import-counts.ts): an import is a process of its own, which Prometheus cannot scrape.
CREATE TABLE "admin"."ImportCount" (
  "ResourceName" TEXT COLLATE "C" NOT NULL CONSTRAINT "ImportCount_pkey" PRIMARY KEY,
  "Created" BIGINT NOT NULL DEFAULT 0,
  "Updated" BIGINT NOT NULL DEFAULT 0,
  "Removed" BIGINT NOT NULL DEFAULT 0,
  -- The last transaction that wrote records of this resource.
  "LastImportTimestamp" TIMESTAMPTZ(3) NOT NULL
) WITH (fillfactor = 50);

-- Who may write the change log may do so with this table: the migrations may be run by another role than the service.
DO $$
DECLARE
  grantee_name text;
BEGIN
  FOR grantee_name IN
    SELECT quote_ident(pg_get_userbyid(relowner)) FROM pg_class WHERE oid = '"EntityEvent"'::regclass AND relowner <> current_user::regrole
    UNION SELECT quote_ident(pg_get_userbyid(grantee)) FROM pg_class, aclexplode(relacl)
      WHERE oid = '"EntityEvent"'::regclass AND privilege_type = 'INSERT' AND grantee <> 0 AND grantee <> current_user::regrole
  LOOP
    EXECUTE 'GRANT USAGE ON SCHEMA "admin" TO ' || grantee_name;
    EXECUTE 'GRANT SELECT, INSERT, UPDATE, DELETE ON "admin"."ImportCount" TO ' || grantee_name;
  END LOOP;
END
$$;
