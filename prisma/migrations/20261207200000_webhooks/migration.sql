-- Webhooks: subscriptions to events of the change log, which the service posts to an address of a client. docs/webhooks.md describes them.

CREATE TABLE "admin"."Webhook" (
  "WebhookId" TEXT COLLATE "C" NOT NULL CONSTRAINT "Webhook_pkey" PRIMARY KEY,
  "ClientId" TEXT COLLATE "C" NOT NULL CONSTRAINT "Webhook_ClientId_fkey" REFERENCES "admin"."Client" ("ClientId"),
  "Url" TEXT NOT NULL,
  -- NULL: events of all resources.
  "ResourceName" TEXT COLLATE "C",
  -- An OData filter on the resource.
  "Filter" TEXT,
  -- The value of the header EntityEventSource.
  "Source" TEXT,
  -- A bearer token that the receiver demands, encrypted.
  "EncryptedToken" TEXT,
  -- active: events are sent; paused: by command; ended: the receiver answered 410; failed: gave up a batch; lost: the log no longer has what follows the position
  "State" TEXT COLLATE "C" NOT NULL DEFAULT 'active' CONSTRAINT "Webhook_State_check" CHECK ("State" IN ('active', 'paused', 'ended', 'failed', 'lost')),
  "StateReason" TEXT,
  "StateTimestamp" TIMESTAMPTZ(3) NOT NULL DEFAULT clock_timestamp(),
  "LogId" TEXT NOT NULL,
  -- All events up to this number were acknowledged by the receiver, or are not for it.
  "Position" BIGINT NOT NULL,
  -- The batch that is being sent: its events, the number up to which they were chosen, the keys of those outside of the filter, and a hash of the rights of the client. Later attempts send the same events.
  "BatchEvents" BIGINT[],
  "BatchPosition" BIGINT,
  "BatchOutsideKeys" TEXT[],
  "BatchRights" TEXT,
  "FailedAttempts" INTEGER NOT NULL DEFAULT 0,
  "FailingSinceTimestamp" TIMESTAMPTZ(3),
  "LastFailure" TEXT,
  -- NULL: at once.
  "NextAttemptTimestamp" TIMESTAMPTZ(3),
  "LastDeliveryTimestamp" TIMESTAMPTZ(3),
  -- The process that works on the subscription until this time. Each holder, and each command, takes the next number; only the holder of the newest number may write.
  "LeaseNumber" BIGINT NOT NULL DEFAULT 0,
  "LeaseOwner" TEXT,
  "LeaseTimestamp" TIMESTAMPTZ(3),
  "CreationTimestamp" TIMESTAMPTZ(3) NOT NULL DEFAULT clock_timestamp(),
  "RemovedTimestamp" TIMESTAMPTZ(3)
) WITH (fillfactor = 50);
CREATE INDEX "Webhook_ClientId_idx" ON "admin"."Webhook" ("ClientId");

-- Secrets that sign deliveries, encrypted with a key derived from TOKEN_KEY or JWT_SECRET. During a rotation there are two.
CREATE TABLE "admin"."WebhookSecret" (
  "SecretId" BIGINT GENERATED ALWAYS AS IDENTITY CONSTRAINT "WebhookSecret_pkey" PRIMARY KEY,
  "WebhookId" TEXT COLLATE "C" NOT NULL CONSTRAINT "WebhookSecret_WebhookId_fkey" REFERENCES "admin"."Webhook" ("WebhookId") ON DELETE CASCADE,
  "EncryptedSecret" TEXT NOT NULL,
  "CreationTimestamp" TIMESTAMPTZ(3) NOT NULL DEFAULT clock_timestamp(),
  -- From then on the secret no longer signs. NULL: it is the newest one.
  "ExpirationTimestamp" TIMESTAMPTZ(3)
);
CREATE INDEX "WebhookSecret_WebhookId_idx" ON "admin"."WebhookSecret" ("WebhookId");

-- Records outside of the filter of a subscription, which the receiver knows to be outside: further events of them are not sent.
CREATE TABLE "admin"."WebhookOutsideKey" (
  "WebhookId" TEXT COLLATE "C" NOT NULL CONSTRAINT "WebhookOutsideKey_WebhookId_fkey" REFERENCES "admin"."Webhook" ("WebhookId") ON DELETE CASCADE,
  "Key" TEXT COLLATE "C" NOT NULL,
  "Position" BIGINT NOT NULL,
  CONSTRAINT "WebhookOutsideKey_pkey" PRIMARY KEY ("WebhookId", "Key")
);

-- One row for each attempt.
CREATE TABLE "admin"."WebhookDelivery" (
  "DeliveryId" BIGINT GENERATED ALWAYS AS IDENTITY CONSTRAINT "WebhookDelivery_pkey" PRIMARY KEY,
  "WebhookId" TEXT COLLATE "C" NOT NULL CONSTRAINT "WebhookDelivery_WebhookId_fkey" REFERENCES "admin"."Webhook" ("WebhookId") ON DELETE CASCADE,
  "AttemptTimestamp" TIMESTAMPTZ(3) NOT NULL DEFAULT clock_timestamp(),
  "MessageId" TEXT NOT NULL,
  "FirstEvent" BIGINT NOT NULL,
  "LastEvent" BIGINT NOT NULL,
  "Events" INTEGER NOT NULL,
  "Attempt" INTEGER NOT NULL,
  "IsDelivered" BOOLEAN NOT NULL,
  -- HTTP status of the answer. NULL: there was none.
  "Status" INTEGER,
  "Reason" TEXT,
  "DurationMs" INTEGER NOT NULL
);
CREATE INDEX "WebhookDelivery_WebhookId_idx" ON "admin"."WebhookDelivery" ("WebhookId", "DeliveryId");
CREATE INDEX "WebhookDelivery_AttemptTimestamp_idx" ON "admin"."WebhookDelivery" ("AttemptTimestamp");

-- Who may write the change log may do so with these tables: the migrations may be run by another role than the service.
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
    EXECUTE 'GRANT SELECT, INSERT, UPDATE, DELETE ON "admin"."Webhook", "admin"."WebhookSecret", "admin"."WebhookOutsideKey", "admin"."WebhookDelivery" TO ' || grantee_name;
  END LOOP;
END
$$;
