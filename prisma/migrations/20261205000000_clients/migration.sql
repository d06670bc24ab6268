-- Clients of the service: who may ask for tokens, with which rights and limits. docs/partners.md describes them.
-- They are in a schema of their own, which no resource of the model shows. Secrets are in a table of their own, as hashes.

CREATE SCHEMA "admin";

-- One row. Every change of a client, a signing key or a revocation takes the next version and notifies the service processes.
CREATE TABLE "admin"."State" (
  "Id" BOOLEAN NOT NULL DEFAULT true CONSTRAINT "State_pkey" PRIMARY KEY CONSTRAINT "State_one_row" CHECK ("Id"),
  "Version" BIGINT NOT NULL DEFAULT 0
);
INSERT INTO "admin"."State" DEFAULT VALUES;

-- A removed client remains as a row without secrets, so that usage and audit entries keep their meaning and ids are never used again.
CREATE TABLE "admin"."Client" (
  "ClientId" TEXT COLLATE "C" NOT NULL CONSTRAINT "Client_pkey" PRIMARY KEY CONSTRAINT "Client_ClientId_check" CHECK ("ClientId" ~ '^[A-Za-z0-9._-]{1,100}$'),
  "Name" TEXT NOT NULL CONSTRAINT "Client_Name_check" CHECK ("Name" <> '' AND length("Name") <= 200),
  "Contact" TEXT,
  "Scopes" TEXT[] NOT NULL DEFAULT '{listings:read}',
  "AudienceClass" TEXT NOT NULL DEFAULT 'public' CONSTRAINT "Client_AudienceClass_check" CHECK ("AudienceClass" IN ('public', 'member', 'staff')),
  "MemberKey" TEXT,
  "OfficeKey" TEXT,
  -- The name of the feed that the client reads. NULL: no feed narrows what it reads.
  "FeedName" TEXT,
  -- Limits. NULL: none.
  "RequestsPerMinute" INTEGER CONSTRAINT "Client_RequestsPerMinute_check" CHECK ("RequestsPerMinute" > 0),
  "RequestsPerDay" INTEGER CONSTRAINT "Client_RequestsPerDay_check" CHECK ("RequestsPerDay" > 0),
  "RowsPerDay" BIGINT CONSTRAINT "Client_RowsPerDay_check" CHECK ("RowsPerDay" > 0),
  "RunningStatements" INTEGER CONSTRAINT "Client_RunningStatements_check" CHECK ("RunningStatements" > 0),
  -- A JSON Web Key Set with public keys, for private_key_jwt.
  "PublicKeys" JSONB,
  "CreationTimestamp" TIMESTAMPTZ(3) NOT NULL DEFAULT clock_timestamp(),
  "ExpirationTimestamp" TIMESTAMPTZ(3),
  "DisabledTimestamp" TIMESTAMPTZ(3),
  "RemovedTimestamp" TIMESTAMPTZ(3),
  "Version" BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX "Client_Version_idx" ON "admin"."Client" ("Version");

CREATE TABLE "admin"."ClientSecret" (
  -- The part of the secret before the underscore. It says which secret a client uses, and is no secret.
  "SecretId" TEXT COLLATE "C" NOT NULL CONSTRAINT "ClientSecret_pkey" PRIMARY KEY,
  "ClientId" TEXT COLLATE "C" NOT NULL CONSTRAINT "ClientSecret_ClientId_fkey" REFERENCES "admin"."Client" ("ClientId") ON DELETE CASCADE,
  -- scrypt, with its parameters and salt
  "Hash" TEXT NOT NULL,
  "CreationTimestamp" TIMESTAMPTZ(3) NOT NULL DEFAULT clock_timestamp(),
  -- Right to the minute.
  "LastUsedTimestamp" TIMESTAMPTZ(3)
);
CREATE INDEX "ClientSecret_ClientId_idx" ON "admin"."ClientSecret" ("ClientId");

-- Usage of a client on one day in UTC. Written every few seconds by each process.
CREATE TABLE "admin"."ClientUsage" (
  "ClientId" TEXT COLLATE "C" NOT NULL,
  "Day" DATE NOT NULL,
  "Requests" BIGINT NOT NULL DEFAULT 0,
  -- Requests that a limit refused. They are not in "Requests".
  "RefusedRequests" BIGINT NOT NULL DEFAULT 0,
  "Rows" BIGINT NOT NULL DEFAULT 0,
  "LastUsedTimestamp" TIMESTAMPTZ(3) NOT NULL,
  CONSTRAINT "ClientUsage_pkey" PRIMARY KEY ("ClientId", "Day")
);

-- What the processes have taken of each limit in its current window.
CREATE TABLE "admin"."Quota" (
  "Subject" TEXT COLLATE "C" NOT NULL,
  -- minute: requests a minute; day: requests a day; rows: rows a day
  "Kind" TEXT COLLATE "C" NOT NULL,
  "WindowStart" TIMESTAMPTZ(3) NOT NULL,
  "Taken" BIGINT NOT NULL DEFAULT 0,
  CONSTRAINT "Quota_pkey" PRIMARY KEY ("Subject", "Kind")
);

-- Access tokens that were revoked before they expired.
CREATE TABLE "admin"."RevokedToken" (
  "Issuer" TEXT COLLATE "C" NOT NULL,
  "TokenId" TEXT COLLATE "C" NOT NULL,
  "ExpirationTimestamp" TIMESTAMPTZ(3) NOT NULL,
  "Version" BIGINT NOT NULL DEFAULT 0,
  CONSTRAINT "RevokedToken_pkey" PRIMARY KEY ("Issuer", "TokenId")
);
CREATE INDEX "RevokedToken_Version_idx" ON "admin"."RevokedToken" ("Version");
CREATE INDEX "RevokedToken_ExpirationTimestamp_idx" ON "admin"."RevokedToken" ("ExpirationTimestamp");

-- Client assertions that were used. A second use violates the key.
CREATE TABLE "admin"."UsedAssertion" (
  "ClientId" TEXT COLLATE "C" NOT NULL,
  "AssertionId" TEXT COLLATE "C" NOT NULL,
  "ExpirationTimestamp" TIMESTAMPTZ(3) NOT NULL,
  CONSTRAINT "UsedAssertion_pkey" PRIMARY KEY ("ClientId", "AssertionId")
);
CREATE INDEX "UsedAssertion_ExpirationTimestamp_idx" ON "admin"."UsedAssertion" ("ExpirationTimestamp");

-- Keys that sign access tokens. The private key is encrypted with a key derived from TOKEN_KEY or JWT_SECRET.
CREATE TABLE "admin"."SigningKey" (
  "KeyId" TEXT COLLATE "C" NOT NULL CONSTRAINT "SigningKey_pkey" PRIMARY KEY,
  "PublicKey" JSONB NOT NULL,
  "EncryptedPrivateKey" TEXT NOT NULL,
  "CreationTimestamp" TIMESTAMPTZ(3) NOT NULL DEFAULT clock_timestamp(),
  -- The newest key whose time has come signs.
  "SigningTimestamp" TIMESTAMPTZ(3) NOT NULL,
  -- Set when the key was withdrawn: its tokens are refused from then on.
  "WithdrawnTimestamp" TIMESTAMPTZ(3),
  "Version" BIGINT NOT NULL DEFAULT 0
);

-- Who changed what and when, with the values before and after. It holds no secrets.
CREATE TABLE "admin"."AuditEntry" (
  "AuditId" BIGINT GENERATED ALWAYS AS IDENTITY CONSTRAINT "AuditEntry_pkey" PRIMARY KEY,
  "EntryTimestamp" TIMESTAMPTZ(3) NOT NULL DEFAULT clock_timestamp(),
  -- For instance "command root": the command line, used by the user root.
  "Actor" TEXT NOT NULL,
  -- For instance client.disable.
  "Action" TEXT COLLATE "C" NOT NULL,
  "ResourceName" TEXT COLLATE "C" NOT NULL,
  "ResourceKey" TEXT COLLATE "C" NOT NULL,
  "Before" JSONB,
  "After" JSONB
);
CREATE INDEX "AuditEntry_Resource_idx" ON "admin"."AuditEntry" ("ResourceName", "ResourceKey", "AuditId");

-- The row of State is locked until the commit, so versions become visible in their order.
CREATE FUNCTION "admin".next_version() RETURNS bigint LANGUAGE sql AS $$
  SELECT pg_notify('client_change', '');
  UPDATE "admin"."State" SET "Version" = "Version" + 1 RETURNING "Version";
$$;

CREATE FUNCTION "admin".stamp_version() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW."Version" := "admin".next_version();
  RETURN NEW;
END
$$;
CREATE TRIGGER stamp_version BEFORE INSERT OR UPDATE ON "admin"."Client" FOR EACH ROW EXECUTE FUNCTION "admin".stamp_version();
CREATE TRIGGER stamp_version BEFORE INSERT OR UPDATE ON "admin"."RevokedToken" FOR EACH ROW EXECUTE FUNCTION "admin".stamp_version();
CREATE TRIGGER stamp_version BEFORE INSERT OR UPDATE ON "admin"."SigningKey" FOR EACH ROW EXECUTE FUNCTION "admin".stamp_version();

-- A change of a secret is a change of its client. The time of the last use is not.
CREATE FUNCTION "admin".touch_client() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE "admin"."Client" SET "Version" = 0 WHERE "ClientId" IN (CASE WHEN TG_OP <> 'INSERT' THEN OLD."ClientId" END, CASE WHEN TG_OP <> 'DELETE' THEN NEW."ClientId" END);
  RETURN NULL;
END
$$;
CREATE TRIGGER touch_client AFTER INSERT OR DELETE OR UPDATE OF "SecretId", "ClientId", "Hash" ON "admin"."ClientSecret" FOR EACH ROW EXECUTE FUNCTION "admin".touch_client();

-- A deleted row has no version that a process could read, so a client is removed by setting its timestamp.
CREATE FUNCTION "admin".refuse_delete() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'rows of % are not deleted: set its timestamp', TG_TABLE_NAME;
END
$$;
CREATE TRIGGER refuse_delete BEFORE DELETE OR TRUNCATE ON "admin"."Client" FOR EACH STATEMENT EXECUTE FUNCTION "admin".refuse_delete();
CREATE TRIGGER refuse_delete BEFORE DELETE OR TRUNCATE ON "admin"."SigningKey" FOR EACH STATEMENT EXECUTE FUNCTION "admin".refuse_delete();

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
    EXECUTE 'GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA "admin" TO ' || grantee_name;
  END LOOP;
END
$$;
