-- The log has an identity, and a floor below which deletions may be missing. docs/replication.md says what they mean to clients.

CREATE TABLE "ChangeLog" (
  "LogId" TEXT COLLATE "C" NOT NULL CONSTRAINT "ChangeLog_pkey" PRIMARY KEY DEFAULT gen_random_uuid()::text,
  -- A reader that has read up to number N misses nothing if N is at least the floor minus one.
  "Floor" BIGINT NOT NULL DEFAULT 0
);
INSERT INTO "ChangeLog" DEFAULT VALUES;

-- Who may read and write the log may do so with its state.
DO $$
DECLARE
  statement text;
BEGIN
  FOR statement IN
    SELECT format('ALTER TABLE "ChangeLog" OWNER TO %I', pg_get_userbyid(relowner)) FROM pg_class WHERE oid = '"EntityEvent"'::regclass
    UNION ALL SELECT format('GRANT %s ON "ChangeLog" TO %s%s', privilege_type, CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END,
      CASE WHEN is_grantable THEN ' WITH GRANT OPTION' ELSE '' END)
      FROM pg_class, aclexplode(relacl) WHERE oid = '"EntityEvent"'::regclass AND grantee <> relowner
  LOOP
    EXECUTE statement;
  END LOOP;
END
$$;

-- TRUNCATE of the log begins a new one. Its numbers are above all of the old one, also above those that a restored database has lost; there are enough of them below 2^53.
-- It begins with an event that everybody can see, so that its end can be asked for.
CREATE FUNCTION begin_log() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM lock_change_log();
  PERFORM setval('entity_event_sequence', coalesce(pg_sequence_last_value('entity_event_sequence'), 0) + 1000000000);
  UPDATE "Lookup" SET "LookupValue" = "LookupValue" WHERE "LookupKey" = (SELECT min("LookupKey") FROM "Lookup");
  IF NOT FOUND THEN
    PERFORM write_event(next_event(), event_time(), 'Lookup', 'none', NULL, ARRAY['public'], NULL);
  END IF;
  UPDATE "ChangeLog" SET "LogId" = gen_random_uuid()::text, "Floor" = (SELECT max("EntityEventSequence") FROM "EntityEvent") + 1;
  RETURN NULL;
END
$$;
CREATE TRIGGER begin_log AFTER TRUNCATE ON "EntityEvent" FOR EACH STATEMENT EXECUTE FUNCTION begin_log();

-- TRUNCATE of records: up to 10,000 rows are deleted and logged one by one, children first; for more a new log begins.
CREATE FUNCTION log_truncate() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  rows bigint;
BEGIN
  PERFORM lock_change_log();
  EXECUTE format('SELECT count(*) FROM (SELECT FROM %I LIMIT 10001) r', TG_TABLE_NAME) INTO rows;
  IF TG_TABLE_NAME = 'Property' THEN
    rows := rows + (SELECT count(*) FROM (SELECT FROM "Media" LIMIT 10001) r) + (SELECT count(*) FROM (SELECT FROM "Rooms" LIMIT 10001) r)
      + (SELECT count(*) FROM (SELECT FROM "OpenHouse" LIMIT 10001) r);
  END IF;
  IF rows > 10000 THEN
    TRUNCATE "EntityEvent";
  ELSE
    EXECUTE format('DELETE FROM %I', TG_TABLE_NAME);
  END IF;
  RETURN NULL;
END
$$;

DO $$
DECLARE
  resource text;
BEGIN
  FOREACH resource IN ARRAY ARRAY['Property', 'Member', 'Office', 'Media', 'Rooms', 'OpenHouse', 'Lookup'] LOOP
    EXECUTE format('CREATE TRIGGER log_truncate BEFORE TRUNCATE ON %I FOR EACH STATEMENT EXECUTE FUNCTION log_truncate()', resource);
  END LOOP;
END
$$;

-- Drops the events before the last one of each record that are older than `cutoff`, of the next `records` records after a key. The last event takes over the audiences of those
-- that are dropped, so that whoever should have got one of them gets it. Returns the key of the last record, or null at the end.
CREATE FUNCTION compact_log(cutoff timestamptz, records int, INOUT resource text, INOUT key text, OUT dropped bigint) LANGUAGE plpgsql AS $$
DECLARE
  last record;
  deleted bigint;
BEGIN
  dropped := 0;
  FOR last IN
    SELECT "ResourceName" AS name, "ResourceRecordKey" AS record, max("EntityEventSequence") AS sequence FROM "EntityEvent"
    WHERE ("ResourceName", "ResourceRecordKey") > (compact_log.resource, compact_log.key)
    GROUP BY 1, 2 ORDER BY 1, 2 LIMIT records
  LOOP
    resource := last.name;
    key := last.record;
    records := records - 1;
    DECLARE
      audiences text[];
    BEGIN
      WITH gone AS (
        DELETE FROM "EntityEvent" WHERE "ResourceName" = last.name AND "ResourceRecordKey" = last.record AND "EntityEventSequence" < last.sequence AND "EventTimestamp" < cutoff
        RETURNING "Audience", "EntityEventSequence"
      ) SELECT array_agg(DISTINCT "Audience"), count(DISTINCT "EntityEventSequence") INTO audiences, deleted FROM gone;
      IF deleted > 0 THEN
        dropped := dropped + deleted;
        PERFORM widen_event(last.sequence, audiences);
      END IF;
    END;
  END LOOP;
  IF records > 0 THEN
    resource := NULL;
  END IF;
END
$$;

CREATE FUNCTION widen_event(sequence bigint, further text[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  event "EntityEvent";
  present text[] := ARRAY(SELECT "Audience" FROM "EntityEvent" WHERE "EntityEventSequence" = sequence);
  audiences text[] := union_of_audiences(present, further);
BEGIN
  IF audiences <@ present THEN
    RETURN;
  END IF;
  SELECT * INTO event FROM "EntityEvent" WHERE "EntityEventSequence" = sequence LIMIT 1;
  DELETE FROM "EntityEvent" WHERE "EntityEventSequence" = sequence;
  PERFORM write_event(sequence, event."EventTimestamp", event."ResourceName", event."ResourceRecordKey", event."PropertyKey", audiences, event."ChangedByMemberKey");
END
$$;

-- Drops the events of records that are gone, older than `cutoff`, among the next `events` rows after a number, and raises the floor. Returns the number of the last row, or
-- null at the end.
CREATE FUNCTION prune_log(cutoff timestamptz, events int, INOUT sequence bigint, OUT dropped bigint) LANGUAGE plpgsql AS $$
DECLARE
  first CONSTANT bigint := sequence;
  highest bigint;
BEGIN
  SELECT max(e."EntityEventSequence") INTO sequence FROM (
    SELECT "EntityEventSequence" FROM "EntityEvent" WHERE "EntityEventSequence" > first ORDER BY "EntityEventSequence" LIMIT events) e;
  WITH gone AS (
    DELETE FROM "EntityEvent" e WHERE "EntityEventSequence" > first AND "EntityEventSequence" <= sequence AND "EventTimestamp" < cutoff AND NOT CASE "ResourceName"
      WHEN 'Property' THEN EXISTS (SELECT FROM "Property" WHERE "ListingKey" = e."ResourceRecordKey")
      WHEN 'Media' THEN EXISTS (SELECT FROM "Media" WHERE "MediaKey" = e."ResourceRecordKey")
      WHEN 'Rooms' THEN EXISTS (SELECT FROM "Rooms" WHERE "RoomKey" = e."ResourceRecordKey")
      WHEN 'OpenHouse' THEN EXISTS (SELECT FROM "OpenHouse" WHERE "OpenHouseKey" = e."ResourceRecordKey")
      WHEN 'Member' THEN EXISTS (SELECT FROM "Member" WHERE "MemberKey" = e."ResourceRecordKey")
      WHEN 'Office' THEN EXISTS (SELECT FROM "Office" WHERE "OfficeKey" = e."ResourceRecordKey")
      WHEN 'Lookup' THEN EXISTS (SELECT FROM "Lookup" WHERE "LookupKey" = e."ResourceRecordKey")
      ELSE true END
    RETURNING "EntityEventSequence"
  ) SELECT max("EntityEventSequence"), count(DISTINCT "EntityEventSequence") INTO highest, dropped FROM gone;
  UPDATE "ChangeLog" SET "Floor" = greatest("Floor", highest + 1) WHERE highest IS NOT NULL;
END
$$;
