-- The change log and the times of changes. The database writes them, so that no writer can pass them by: the service, an import, Prisma Studio or psql.
--
-- Functions that run for each row avoid small statements, since each costs a look at an index. A call within a condition is evaluated without a statement,
-- which is the reason for conditions such as "IF lock_change_log() IS NULL". Statements without variables keep their plans in every session.

-- The number of the last event.
CREATE SEQUENCE entity_event_sequence;
-- Milliseconds since 1970 of the last change. No two changes have the same time, and times rise even if the clock is set back.
CREATE SEQUENCE change_clock MINVALUE 0 START 0;

-- One lock for all writers, held to the end of the transaction. Events and times that are taken under it become visible in their order,
-- so a reader that asks for everything after the last event it has seen misses nothing.
CREATE FUNCTION lock_change_log() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF pg_advisory_xact_lock(4611686018427387904) IS NULL THEN
    RETURN;
  END IF;
END
$$;

-- A statement takes the lock before it locks a row, and so cannot deadlock with a transaction that holds the lock and waits for the row.
-- PostgreSQL locks rows before BEFORE ROW triggers run, so this is a BEFORE STATEMENT trigger.
CREATE FUNCTION lock_change_log_first() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF lock_change_log() IS NULL THEN
    RETURN NULL;
  END IF;
  RETURN NULL;
END
$$;

CREATE TRIGGER lock_change_log_first BEFORE INSERT OR UPDATE OR DELETE ON "Property" FOR EACH STATEMENT EXECUTE FUNCTION lock_change_log_first();
CREATE TRIGGER lock_change_log_first BEFORE INSERT OR UPDATE OR DELETE ON "Member" FOR EACH STATEMENT EXECUTE FUNCTION lock_change_log_first();
CREATE TRIGGER lock_change_log_first BEFORE INSERT OR UPDATE OR DELETE ON "Office" FOR EACH STATEMENT EXECUTE FUNCTION lock_change_log_first();
CREATE TRIGGER lock_change_log_first BEFORE INSERT OR UPDATE OR DELETE ON "Media" FOR EACH STATEMENT EXECUTE FUNCTION lock_change_log_first();
CREATE TRIGGER lock_change_log_first BEFORE INSERT OR UPDATE OR DELETE ON "Rooms" FOR EACH STATEMENT EXECUTE FUNCTION lock_change_log_first();
CREATE TRIGGER lock_change_log_first BEFORE INSERT OR UPDATE OR DELETE ON "OpenHouse" FOR EACH STATEMENT EXECUTE FUNCTION lock_change_log_first();
CREATE TRIGGER lock_change_log_first BEFORE INSERT OR UPDATE OR DELETE ON "Lookup" FOR EACH STATEMENT EXECUTE FUNCTION lock_change_log_first();

CREATE FUNCTION next_change_time() RETURNS timestamptz LANGUAGE plpgsql AS $$
DECLARE
  milliseconds bigint;
BEGIN
  IF lock_change_log() IS NULL THEN RETURN NULL; END IF;
  milliseconds := setval('change_clock', greatest(floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint, coalesce(pg_sequence_last_value('change_clock'), 0) + 1));
  RETURN timestamptz 'epoch' + milliseconds * interval '1 millisecond';
END
$$;

-- The number of the next event. Subscribers are notified once at the end of the transaction, since all its notifications are equal.
CREATE FUNCTION next_event() RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
  IF lock_change_log() IS NOT NULL AND pg_notify('entity_event', '') IS NOT NULL THEN
    RETURN nextval('entity_event_sequence');
  END IF;
END
$$;

-- True during an import, which brings the times of its records.
CREATE FUNCTION is_import() RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT coalesce(current_setting('listing.import', true), '') = 'on';
$$;

-- The version and time of a record.
CREATE FUNCTION stamp_record() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'UPDATE' THEN
    NEW."RecordVersion" := nextval('record_version');
    IF NOT is_import() THEN
      NEW."ModificationTimestamp" := greatest(next_change_time(), OLD."ModificationTimestamp" + interval '1 millisecond');
    END IF;
  ELSIF NOT is_import() THEN
    NEW."ModificationTimestamp" := next_change_time();
  END IF;
  RETURN NEW;
END
$$;

CREATE TRIGGER stamp_record BEFORE INSERT OR UPDATE ON "Property" FOR EACH ROW EXECUTE FUNCTION stamp_record();
CREATE TRIGGER stamp_record BEFORE INSERT OR UPDATE ON "Member" FOR EACH ROW EXECUTE FUNCTION stamp_record();
CREATE TRIGGER stamp_record BEFORE INSERT OR UPDATE ON "Office" FOR EACH ROW EXECUTE FUNCTION stamp_record();
CREATE TRIGGER stamp_record BEFORE INSERT OR UPDATE ON "Media" FOR EACH ROW EXECUTE FUNCTION stamp_record();
CREATE TRIGGER stamp_record BEFORE INSERT OR UPDATE ON "Rooms" FOR EACH ROW EXECUTE FUNCTION stamp_record();
CREATE TRIGGER stamp_record BEFORE INSERT OR UPDATE ON "OpenHouse" FOR EACH ROW EXECUTE FUNCTION stamp_record();
CREATE TRIGGER stamp_record BEFORE INSERT OR UPDATE ON "Lookup" FOR EACH ROW EXECUTE FUNCTION stamp_record();

-- The URL of a record relative to the service root: quotes are doubled, and characters that a path segment cannot contain are percent-encoded.
CREATE FUNCTION record_url(resource text, key text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT resource || '(''' || replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(key,
    '%', '%25'), '''', ''''''), '/', '%2F'), '?', '%3F'), '#', '%23'), ' ', '%20'), '"', '%22'), '<', '%3C'), '>', '%3E'), '\', '%5C'), '+', '%2B')
    || ''')';
$$;

-- The fields that decide who can see a listing: those of the listing or, if it is deleted, of its last event.
CREATE FUNCTION listing_audience(key text)
RETURNS TABLE("StandardStatus" text, "ListAgentKey" text, "ListOfficeKey" text, "InternetEntireListingDisplayYN" boolean) LANGUAGE sql STABLE AS $$
  (SELECT "StandardStatus", "ListAgentKey", "ListOfficeKey", "InternetEntireListingDisplayYN" FROM "Property" WHERE "ListingKey" = key)
  UNION ALL
  (SELECT "StandardStatus", "ListAgentKey", "ListOfficeKey", "InternetEntireListingDisplayYN" FROM "EntityEvent" WHERE "PropertyKey" = key
   ORDER BY "EntityEventSequence" DESC LIMIT 1)
  LIMIT 1;
$$;

-- Each table has one function for its events. `changed` contains the rows after the statement, or the deleted ones.
-- An event keeps the fields that decide who can see its listing, so that the same readers see the event after the listing is deleted.
CREATE FUNCTION log_property() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO "EntityEvent" ("EntityEventSequence", "ResourceName", "ResourceRecordKey", "ResourceRecordUrl", "PropertyKey",
    "StandardStatus", "ListAgentKey", "ListOfficeKey", "InternetEntireListingDisplayYN", "ChangedByMemberKey")
  SELECT next_event(), 'Property', "ListingKey", record_url('Property', "ListingKey"), "ListingKey",
    "StandardStatus", "ListAgentKey", "ListOfficeKey", "InternetEntireListingDisplayYN", "ChangedByMemberKey"
  FROM changed;
  RETURN NULL;
END
$$;

CREATE FUNCTION log_removal() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO "EntityEvent" ("EntityEventSequence", "ResourceName", "ResourceRecordKey", "ResourceRecordUrl", "PropertyKey",
    "StandardStatus", "ListAgentKey", "ListOfficeKey", "InternetEntireListingDisplayYN")
  SELECT next_event(), 'Property', "ListingKey", record_url('Property', "ListingKey"), "ListingKey",
    "StandardStatus", "ListAgentKey", "ListOfficeKey", "InternetEntireListingDisplayYN"
  FROM changed;
  RETURN NULL;
END
$$;

CREATE FUNCTION log_member() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO "EntityEvent" ("EntityEventSequence", "ResourceName", "ResourceRecordKey", "ResourceRecordUrl")
  SELECT next_event(), 'Member', "MemberKey", record_url('Member', "MemberKey") FROM changed;
  RETURN NULL;
END
$$;

CREATE FUNCTION log_office() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO "EntityEvent" ("EntityEventSequence", "ResourceName", "ResourceRecordKey", "ResourceRecordUrl")
  SELECT next_event(), 'Office', "OfficeKey", record_url('Office', "OfficeKey") FROM changed;
  RETURN NULL;
END
$$;

-- These also read the listing, after the lock: by then no other transaction writes it. A statement that changed no row waits for nobody.
CREATE FUNCTION log_media() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM changed) THEN
    RETURN NULL;
  END IF;
  PERFORM lock_change_log();
  INSERT INTO "EntityEvent" ("EntityEventSequence", "ResourceName", "ResourceRecordKey", "ResourceRecordUrl", "PropertyKey",
    "StandardStatus", "ListAgentKey", "ListOfficeKey", "InternetEntireListingDisplayYN")
  SELECT next_event(), 'Media', c."MediaKey", record_url('Media', c."MediaKey"), c."PropertyKey",
    l."StandardStatus", l."ListAgentKey", l."ListOfficeKey", l."InternetEntireListingDisplayYN"
  FROM changed c LEFT JOIN LATERAL listing_audience(c."PropertyKey") l ON true;
  RETURN NULL;
END
$$;

CREATE FUNCTION log_rooms() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM changed) THEN
    RETURN NULL;
  END IF;
  PERFORM lock_change_log();
  INSERT INTO "EntityEvent" ("EntityEventSequence", "ResourceName", "ResourceRecordKey", "ResourceRecordUrl", "PropertyKey",
    "StandardStatus", "ListAgentKey", "ListOfficeKey", "InternetEntireListingDisplayYN")
  SELECT next_event(), 'Rooms', c."RoomKey", record_url('Rooms', c."RoomKey"), c."ListingKey",
    l."StandardStatus", l."ListAgentKey", l."ListOfficeKey", l."InternetEntireListingDisplayYN"
  FROM changed c LEFT JOIN LATERAL listing_audience(c."ListingKey") l ON true;
  RETURN NULL;
END
$$;

CREATE FUNCTION log_openhouse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM changed) THEN
    RETURN NULL;
  END IF;
  PERFORM lock_change_log();
  INSERT INTO "EntityEvent" ("EntityEventSequence", "ResourceName", "ResourceRecordKey", "ResourceRecordUrl", "PropertyKey",
    "StandardStatus", "ListAgentKey", "ListOfficeKey", "InternetEntireListingDisplayYN")
  SELECT next_event(), 'OpenHouse', c."OpenHouseKey", record_url('OpenHouse', c."OpenHouseKey"), c."ListingKey",
    l."StandardStatus", l."ListAgentKey", l."ListOfficeKey", l."InternetEntireListingDisplayYN"
  FROM changed c LEFT JOIN LATERAL listing_audience(c."ListingKey") l ON true;
  RETURN NULL;
END
$$;

CREATE TRIGGER log_insert AFTER INSERT ON "Property" REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION log_property();
CREATE TRIGGER log_update AFTER UPDATE ON "Property" REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION log_property();
CREATE TRIGGER log_delete AFTER DELETE ON "Property" REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION log_removal();

CREATE TRIGGER log_insert AFTER INSERT ON "Member" REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION log_member();
CREATE TRIGGER log_update AFTER UPDATE ON "Member" REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION log_member();
CREATE TRIGGER log_delete AFTER DELETE ON "Member" REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION log_member();

CREATE TRIGGER log_insert AFTER INSERT ON "Office" REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION log_office();
CREATE TRIGGER log_update AFTER UPDATE ON "Office" REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION log_office();
CREATE TRIGGER log_delete AFTER DELETE ON "Office" REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION log_office();

CREATE TRIGGER log_insert AFTER INSERT ON "Media" REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION log_media();
CREATE TRIGGER log_update AFTER UPDATE ON "Media" REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION log_media();
CREATE TRIGGER log_delete AFTER DELETE ON "Media" REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION log_media();

CREATE TRIGGER log_insert AFTER INSERT ON "Rooms" REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION log_rooms();
CREATE TRIGGER log_update AFTER UPDATE ON "Rooms" REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION log_rooms();
CREATE TRIGGER log_delete AFTER DELETE ON "Rooms" REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION log_rooms();

CREATE TRIGGER log_insert AFTER INSERT ON "OpenHouse" REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION log_openhouse();
CREATE TRIGGER log_update AFTER UPDATE ON "OpenHouse" REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION log_openhouse();
CREATE TRIGGER log_delete AFTER DELETE ON "OpenHouse" REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION log_openhouse();
