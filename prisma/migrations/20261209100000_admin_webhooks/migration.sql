-- Webhooks are read and written at /admin too.

-- The version of a webhook for ETags: what operators set, and its state. Deliveries do not change it.
ALTER TABLE "admin"."Webhook" ADD COLUMN "Version" BIGINT NOT NULL DEFAULT 1;

CREATE FUNCTION "admin".set_webhook_version() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW."Version" := OLD."Version" + 1;
  RETURN NEW;
END
$$;
CREATE TRIGGER "Webhook_version" BEFORE UPDATE ON "admin"."Webhook" FOR EACH ROW
  WHEN ((OLD."Url", OLD."Source", OLD."EncryptedToken", OLD."State", OLD."StateReason", OLD."StateTimestamp", OLD."RemovedTimestamp")
    IS DISTINCT FROM (NEW."Url", NEW."Source", NEW."EncryptedToken", NEW."State", NEW."StateReason", NEW."StateTimestamp", NEW."RemovedTimestamp"))
  EXECUTE FUNCTION "admin".set_webhook_version();

-- The path and the query of a URL may contain a secret.
CREATE VIEW "admin"."WebhookResource" AS
SELECT "WebhookId", w."ClientId",
  (CASE WHEN "Url" ~ '^[^/]+//[^/?]+/$' THEN "Url" ELSE substring("Url" FROM '^[^/]+//[^/?]+') || '/…' END) COLLATE "C" AS "Url",
  "ResourceName", "Filter" COLLATE "C" AS "Filter", "Source" COLLATE "C" AS "Source",
  (CASE WHEN "EncryptedToken" IS NOT NULL THEN '…' END) COLLATE "C" AS "Token",
  initcap("State") COLLATE "C" AS "State", "StateReason" COLLATE "C" AS "StateReason", "StateTimestamp",
  c."DisabledTimestamp" IS NULL AND c."RemovedTimestamp" IS NULL AND 'listings:read' = ANY (c."Scopes")
    AND (c."ExpirationTimestamp" IS NULL OR c."ExpirationTimestamp" > clock_timestamp()) AS "ClientActiveYN",
  NULL::text COLLATE "C" AS "From", "Position",
  greatest(0, (SELECT greatest("Floor" - 1, (SELECT coalesce(max("EntityEventSequence"), 0) FROM "EntityEvent")) FROM "ChangeLog") - "Position") AS "Lag",
  "BatchEvents"[1] AS "BatchFirstEvent", "BatchEvents"[cardinality("BatchEvents")] AS "BatchLastEvent", "BatchPosition",
  "FailedAttempts", "FailingSinceTimestamp", "LastFailure" COLLATE "C" AS "LastFailure", "NextAttemptTimestamp", "LastDeliveryTimestamp",
  w."CreationTimestamp", NULL::text COLLATE "C" AS "Secret", w."Version" AS "RecordVersion"
FROM "admin"."Webhook" w JOIN "admin"."Client" c ON c."ClientId" = w."ClientId" WHERE w."RemovedTimestamp" IS NULL;

CREATE VIEW "admin"."WebhookSecretResource" AS
SELECT "SecretId", "WebhookId", "CreationTimestamp", "ExpirationTimestamp", NULL::integer AS "OverlapHours", NULL::text COLLATE "C" AS "Secret"
FROM "admin"."WebhookSecret" WHERE "ExpirationTimestamp" IS NULL OR "ExpirationTimestamp" > clock_timestamp();

CREATE VIEW "admin"."WebhookDeliveryResource" AS
SELECT "DeliveryId", "WebhookId", "AttemptTimestamp", "MessageId" COLLATE "C" AS "MessageId", "FirstEvent", "LastEvent", "Events", "Attempt",
  "IsDelivered" AS "DeliveredYN", "Status", "Reason" COLLATE "C" AS "Reason", "DurationMs"
FROM "admin"."WebhookDelivery";

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
    EXECUTE 'GRANT SELECT ON "admin"."WebhookResource", "admin"."WebhookSecretResource", "admin"."WebhookDeliveryResource" TO ' || grantee_name;
  END LOOP;
END
$$;
