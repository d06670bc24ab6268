-- What /admin shows (prisma/admin.prisma): a view for each entity, without secrets and hashes. Texts sort by code point, as everywhere in the service.

-- Who changed a listing or a client, and from where. docs/administration.md describes the entries.
ALTER TABLE "admin"."AuditEntry"
  ADD COLUMN "ClientId" TEXT COLLATE "C",
  ADD COLUMN "Subject" TEXT COLLATE "C",
  ADD COLUMN "ChangedByMemberKey" TEXT COLLATE "C",
  ADD COLUMN "Address" TEXT COLLATE "C";

CREATE VIEW "admin"."ClientResource" AS
SELECT "ClientId", "Name" COLLATE "C" AS "Name", "Contact" COLLATE "C" AS "Contact", "Scopes", "AudienceClass" COLLATE "C" AS "AudienceClass",
  "MemberKey" COLLATE "C" AS "MemberKey", "OfficeKey" COLLATE "C" AS "OfficeKey", "FeedName" COLLATE "C" AS "FeedName",
  "RequestsPerMinute", "RequestsPerDay", "RowsPerDay", "RunningStatements",
  (CASE WHEN "DisabledTimestamp" IS NOT NULL THEN 'Disabled' WHEN "ExpirationTimestamp" <= clock_timestamp() THEN 'Expired' ELSE 'Active' END) COLLATE "C" AS "State",
  "DisabledTimestamp" IS NOT NULL AS "DisabledYN", "ExpirationTimestamp", "CreationTimestamp", "DisabledTimestamp",
  (SELECT max(u."LastUsedTimestamp") FROM "admin"."ClientUsage" u WHERE u."ClientId" = c."ClientId") AS "LastUsedTimestamp",
  NULL::text COLLATE "C" AS "Secret", "Version" AS "RecordVersion"
FROM "admin"."Client" c WHERE "RemovedTimestamp" IS NULL;

CREATE VIEW "admin"."ClientSecretResource" AS
SELECT "SecretId", "ClientId", "CreationTimestamp", "LastUsedTimestamp", NULL::text COLLATE "C" AS "Secret" FROM "admin"."ClientSecret";

CREATE VIEW "admin"."ClientUsageResource" AS
SELECT ("ClientId" || ':' || "Day") COLLATE "C" AS "ClientUsageKey", "ClientId", "Day", "Requests", "RefusedRequests", "Rows", "LastUsedTimestamp" FROM "admin"."ClientUsage";

CREATE VIEW "admin"."AuditEntryResource" AS
SELECT "AuditId", "EntryTimestamp", "Actor" COLLATE "C" AS "Actor", "ClientId", "Subject", "ChangedByMemberKey", "Address", "Action", "ResourceName", "ResourceKey",
  ARRAY(SELECT key COLLATE "C" FROM jsonb_object_keys(coalesce("Before", '{}') || coalesce("After", '{}')) key ORDER BY 1) AS "ChangedFields",
  "Before"::text COLLATE "C" AS "Before", "After"::text COLLATE "C" AS "After"
FROM "admin"."AuditEntry";

-- Who may write the change log may read the views: the migrations may be run by another role than the service.
DO $$
DECLARE
  grantee_name text;
BEGIN
  FOR grantee_name IN
    SELECT quote_ident(pg_get_userbyid(relowner)) FROM pg_class WHERE oid = '"EntityEvent"'::regclass AND relowner <> current_user::regrole
    UNION SELECT quote_ident(pg_get_userbyid(grantee)) FROM pg_class, aclexplode(relacl)
      WHERE oid = '"EntityEvent"'::regclass AND privilege_type = 'INSERT' AND grantee <> 0 AND grantee <> current_user::regrole
  LOOP
    EXECUTE 'GRANT SELECT ON "admin"."ClientResource", "admin"."ClientSecretResource", "admin"."ClientUsageResource", "admin"."AuditEntryResource" TO ' || grantee_name;
  END LOOP;
END
$$;
