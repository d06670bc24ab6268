-- The change log and the times of change are kept by the database itself, so that nothing can write past them:
-- not the service, not an import, not Prisma Studio, not psql.

CREATE SEQUENCE entity_event_sequence;

-- Milliseconds since 1970 of the last change. No two changes share a timestamp, and timestamps rise even if the clock is set back.
CREATE SEQUENCE change_clock MINVALUE 0;

-- Functions that run for every row keep their plans: the service's sessions ask for a plan for each value, which is right for
-- filters and more than doubled the time of a bulk load here.

-- One lock for all writers, held to the end of the transaction: what is numbered or timed under it becomes visible
-- in that order, so a reader that asks for "greater than what I have seen" misses nothing.
CREATE FUNCTION lock_change_log() RETURNS void LANGUAGE sql AS $$
  SELECT pg_advisory_xact_lock(4611686018427387904);
$$;

-- An import keeps the times it is given.
CREATE FUNCTION is_import() RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT coalesce(current_setting('listing.import', true), '') = 'on';
$$;

CREATE FUNCTION next_change_time() RETURNS timestamptz LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  milliseconds bigint;
BEGIN
  PERFORM lock_change_log();
  SELECT greatest(floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint, last_value + 1) INTO milliseconds FROM change_clock;
  PERFORM setval('change_clock', milliseconds);
  RETURN timestamptz 'epoch' + milliseconds * interval '1 millisecond';
END
$$;

CREATE FUNCTION stamp_record() RETURNS trigger LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
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

-- Address of a record relative to the service root: quotes doubled, what a path segment cannot hold percent-encoded.
CREATE FUNCTION record_url(resource text, key text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT resource || '(''' || replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(key,
    '%', '%25'), '''', ''''''), '/', '%2F'), '?', '%3F'), '#', '%23'), ' ', '%20'), '"', '%22'), '<', '%3C'), '>', '%3E'), '\', '%5C'), '+', '%2B')
    || ''')';
$$;

-- One function a table, three triggers each: `changed` holds the rows as they are after the statement, or were before a DELETE.
-- An event keeps what decided who could see its listing, so that it can be shown to the same readers when the listing is gone.
CREATE FUNCTION log_property() RETURNS trigger LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
BEGIN
  PERFORM lock_change_log();
  INSERT INTO "EntityEvent" ("EntityEventSequence", "ResourceName", "ResourceRecordKey", "ResourceRecordUrl", "PropertyKey",
    "StandardStatus", "ListAgentKey", "ListOfficeKey", "InternetEntireListingDisplayYN", "ChangedByMemberKey")
  SELECT nextval('entity_event_sequence'), 'Property', "ListingKey", record_url('Property', "ListingKey"), "ListingKey",
    "StandardStatus", "ListAgentKey", "ListOfficeKey", "InternetEntireListingDisplayYN",
    CASE WHEN TG_OP <> 'DELETE' THEN "ChangedByMemberKey" END
  FROM changed;
  RETURN NULL;
END
$$;

-- What decides who can see a listing: from the listing itself or, if it is gone, from its last event.
CREATE FUNCTION listing_audience(key text) RETURNS TABLE ("StandardStatus" text, "ListAgentKey" text, "ListOfficeKey" text, "InternetEntireListingDisplayYN" boolean)
LANGUAGE sql STABLE AS $$
  (SELECT "StandardStatus", "ListAgentKey", "ListOfficeKey", "InternetEntireListingDisplayYN" FROM "Property" WHERE "ListingKey" = key)
  UNION ALL
  (SELECT "StandardStatus", "ListAgentKey", "ListOfficeKey", "InternetEntireListingDisplayYN" FROM "EntityEvent" WHERE "PropertyKey" = key
   ORDER BY "EntityEventSequence" DESC LIMIT 1)
  LIMIT 1;
$$;

CREATE FUNCTION log_member() RETURNS trigger LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
BEGIN
  PERFORM lock_change_log();
  INSERT INTO "EntityEvent" ("EntityEventSequence", "ResourceName", "ResourceRecordKey", "ResourceRecordUrl")
  SELECT nextval('entity_event_sequence'), 'Member', "MemberKey", record_url('Member', "MemberKey") FROM changed;
  RETURN NULL;
END
$$;

CREATE FUNCTION log_office() RETURNS trigger LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
BEGIN
  PERFORM lock_change_log();
  INSERT INTO "EntityEvent" ("EntityEventSequence", "ResourceName", "ResourceRecordKey", "ResourceRecordUrl")
  SELECT nextval('entity_event_sequence'), 'Office', "OfficeKey", record_url('Office', "OfficeKey") FROM changed;
  RETURN NULL;
END
$$;

CREATE FUNCTION log_media() RETURNS trigger LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
BEGIN
  PERFORM lock_change_log();
  INSERT INTO "EntityEvent" ("EntityEventSequence", "ResourceName", "ResourceRecordKey", "ResourceRecordUrl", "PropertyKey",
    "StandardStatus", "ListAgentKey", "ListOfficeKey", "InternetEntireListingDisplayYN")
  SELECT nextval('entity_event_sequence'), 'Media', c."MediaKey", record_url('Media', c."MediaKey"), c."PropertyKey",
    l."StandardStatus", l."ListAgentKey", l."ListOfficeKey", l."InternetEntireListingDisplayYN"
  FROM changed c LEFT JOIN LATERAL listing_audience(c."PropertyKey") l ON true;
  RETURN NULL;
END
$$;

CREATE FUNCTION log_rooms() RETURNS trigger LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
BEGIN
  PERFORM lock_change_log();
  INSERT INTO "EntityEvent" ("EntityEventSequence", "ResourceName", "ResourceRecordKey", "ResourceRecordUrl", "PropertyKey",
    "StandardStatus", "ListAgentKey", "ListOfficeKey", "InternetEntireListingDisplayYN")
  SELECT nextval('entity_event_sequence'), 'Rooms', c."RoomKey", record_url('Rooms', c."RoomKey"), c."ListingKey",
    l."StandardStatus", l."ListAgentKey", l."ListOfficeKey", l."InternetEntireListingDisplayYN"
  FROM changed c LEFT JOIN LATERAL listing_audience(c."ListingKey") l ON true;
  RETURN NULL;
END
$$;

CREATE FUNCTION log_openhouse() RETURNS trigger LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
BEGIN
  PERFORM lock_change_log();
  INSERT INTO "EntityEvent" ("EntityEventSequence", "ResourceName", "ResourceRecordKey", "ResourceRecordUrl", "PropertyKey",
    "StandardStatus", "ListAgentKey", "ListOfficeKey", "InternetEntireListingDisplayYN")
  SELECT nextval('entity_event_sequence'), 'OpenHouse', c."OpenHouseKey", record_url('OpenHouse', c."OpenHouseKey"), c."ListingKey",
    l."StandardStatus", l."ListAgentKey", l."ListOfficeKey", l."InternetEntireListingDisplayYN"
  FROM changed c LEFT JOIN LATERAL listing_audience(c."ListingKey") l ON true;
  RETURN NULL;
END
$$;

CREATE TRIGGER log_insert AFTER INSERT ON "Property" REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION log_property();
CREATE TRIGGER log_update AFTER UPDATE ON "Property" REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION log_property();
CREATE TRIGGER log_delete AFTER DELETE ON "Property" REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION log_property();
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
