-- Clients are written at /admin too: their public keys are a field there.
CREATE OR REPLACE VIEW "admin"."ClientResource" AS
SELECT "ClientId", "Name" COLLATE "C" AS "Name", "Contact" COLLATE "C" AS "Contact", "Scopes", "AudienceClass" COLLATE "C" AS "AudienceClass",
  "MemberKey" COLLATE "C" AS "MemberKey", "OfficeKey" COLLATE "C" AS "OfficeKey", "FeedName" COLLATE "C" AS "FeedName",
  "RequestsPerMinute", "RequestsPerDay", "RowsPerDay", "RunningStatements",
  (CASE WHEN "DisabledTimestamp" IS NOT NULL THEN 'Disabled' WHEN "ExpirationTimestamp" <= clock_timestamp() THEN 'Expired' ELSE 'Active' END) COLLATE "C" AS "State",
  "DisabledTimestamp" IS NOT NULL AS "DisabledYN", "ExpirationTimestamp", "CreationTimestamp", "DisabledTimestamp",
  (SELECT max(u."LastUsedTimestamp") FROM "admin"."ClientUsage" u WHERE u."ClientId" = c."ClientId") AS "LastUsedTimestamp",
  NULL::text COLLATE "C" AS "Secret", "Version" AS "RecordVersion", "PublicKeys"::text COLLATE "C" AS "PublicKeys"
FROM "admin"."Client" c WHERE "RemovedTimestamp" IS NULL;
