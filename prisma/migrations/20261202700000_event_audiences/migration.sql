-- Each event has the audiences that could see its record before the change or can see it after. A reader gets the events of its own audiences, in order, from one index.
-- docs/architecture.md describes the design. src/domain/audiences.ts has the audiences of a token; a test compares both with the rules of src/domain/visibility.ts.

-- Who can see a listing. `public` is everybody, `member` members and staff, `any` tokens that may write every listing, the others its agent and its office.
CREATE FUNCTION listing_audiences(status text, displayed boolean, agent text, office text) RETURNS text[] LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE
    WHEN status IS DISTINCT FROM 'Incomplete' AND displayed IS DISTINCT FROM false THEN ARRAY['public']
    ELSE array_remove(ARRAY[CASE WHEN status IS DISTINCT FROM 'Incomplete' THEN 'member' END, 'any', 'agent:' || agent, 'office:' || office], NULL)
  END;
$$;

-- Null if there is no such listing.
CREATE FUNCTION audiences_of_listing(key text) RETURNS text[] LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN (SELECT listing_audiences("StandardStatus", "InternetEntireListingDisplayYN", "ListAgentKey", "ListOfficeKey") FROM "Property" WHERE "ListingKey" = key);
END
$$;

-- Media of a listing that does not exist are visible to staff only.
CREATE FUNCTION media_audiences(resource text, listing text) RETURNS text[] LANGUAGE plpgsql STABLE AS $$
BEGIN
  IF listing IS NOT NULL THEN
    RETURN audiences_of_listing(listing);
  END IF;
  RETURN CASE WHEN resource = 'Property' THEN ARRAY['staff'] ELSE ARRAY['public'] END;
END
$$;

-- The audiences of both, without those that `public` includes. Null stands for none.
CREATE FUNCTION union_of_audiences(a text[], b text[]) RETURNS text[] LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
  IF a = b OR b IS NULL THEN
    RETURN a;
  ELSIF a IS NULL THEN
    RETURN b;
  ELSIF 'public' = ANY (a) OR 'public' = ANY (b) THEN
    RETURN ARRAY['public'];
  END IF;
  RETURN ARRAY(SELECT DISTINCT audience FROM unnest(a || b) audience ORDER BY audience);
END
$$;

-- True if some reader of `former` is not a reader of `latter`.
CREATE FUNCTION loses_audience(former text[], latter text[]) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT NOT 'public' = ANY (latter) AND NOT former <@ latter;
$$;

-- The log has one row for each event and audience. `EarlierAudiences` are those of the same event that come before the row's own one:
-- a reader with several audiences takes the first row of each event and leaves the others out.
ALTER TABLE "EntityEvent" RENAME TO "EntityEvent_before";
ALTER TABLE "EntityEvent_before" DROP CONSTRAINT "EntityEvent_pkey";
DROP INDEX "EntityEvent_record_idx";
CREATE TABLE "EntityEvent" (
  "EntityEventSequence" BIGINT NOT NULL,
  "EventTimestamp" TIMESTAMPTZ(3) NOT NULL,
  "ResourceName" TEXT COLLATE "C" NOT NULL,
  "ResourceRecordKey" TEXT COLLATE "C" NOT NULL,
  "ResourceRecordUrl" TEXT COLLATE "C",
  "Audience" TEXT COLLATE "C" NOT NULL,
  "EarlierAudiences" TEXT[] COLLATE "C" NOT NULL DEFAULT '{}',
  "PropertyKey" TEXT COLLATE "C",
  "ChangedByMemberKey" TEXT COLLATE "C"
);

-- Who owns the log, or may read and write it, may do so with the new table.
DO $$
DECLARE
  statement text;
BEGIN
  FOR statement IN
    SELECT format('ALTER TABLE "EntityEvent" OWNER TO %I', pg_get_userbyid(relowner)) FROM pg_class WHERE oid = '"EntityEvent_before"'::regclass
    UNION ALL SELECT format('GRANT %s ON "EntityEvent" TO %s%s', privilege_type, CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END,
      CASE WHEN is_grantable THEN ' WITH GRANT OPTION' ELSE '' END)
      FROM pg_class, aclexplode(relacl) WHERE oid = '"EntityEvent_before"'::regclass AND grantee <> relowner
  LOOP
    EXECUTE statement;
  END LOOP;
END
$$;

-- An old event kept what decided who could see its listing afterwards; what it was before stands in the event before it. Times of transactions could fall.
INSERT INTO "EntityEvent"
SELECT "EntityEventSequence", "EventTimestamp", "ResourceName", "ResourceRecordKey", "ResourceRecordUrl", audiences[i], audiences[:i - 1], "PropertyKey", "ChangedByMemberKey"
FROM (
  SELECT "EntityEventSequence", max("EventTimestamp") OVER (ORDER BY "EntityEventSequence") AS "EventTimestamp", "ResourceName", "ResourceRecordKey", "ResourceRecordUrl",
    union_of_audiences(audiences, lag(audiences) OVER (PARTITION BY "PropertyKey", CASE WHEN "PropertyKey" IS NULL THEN "EntityEventSequence" END ORDER BY "EntityEventSequence")) AS audiences,
    "PropertyKey", "ChangedByMemberKey"
  FROM (
    SELECT e.*, CASE
      WHEN e."PropertyKey" IS NOT NULL THEN listing_audiences("StandardStatus", "InternetEntireListingDisplayYN", "ListAgentKey", "ListOfficeKey")
      WHEN "ResourceName" = 'Media' AND EXISTS (
        SELECT FROM "Media" m WHERE m."MediaKey" = "ResourceRecordKey" AND m."ResourceName" = 'Property' AND m."PropertyKey" IS NULL) THEN ARRAY['staff']
      ELSE ARRAY['public']
    END AS audiences FROM "EntityEvent_before" e
  ) own
) events, generate_subscripts(audiences, 1) i
ORDER BY "EntityEventSequence";
DROP TABLE "EntityEvent_before";

ALTER TABLE "EntityEvent" ADD CONSTRAINT "EntityEvent_pkey" PRIMARY KEY ("EntityEventSequence", "Audience");
CREATE INDEX "EntityEvent_Audience_EntityEventSequence_idx" ON "EntityEvent" ("Audience", "EntityEventSequence");
CREATE INDEX "EntityEvent_record_idx" ON "EntityEvent" ("ResourceName", "ResourceRecordKey", "EntityEventSequence");
-- The end of the log has no other rows than the newest, which statistics know nothing of.
ALTER TABLE "EntityEvent" SET (autovacuum_analyze_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.05);

-- The number of a record's last event.
ALTER TABLE "Property" ADD COLUMN "LastEventSequence" BIGINT NOT NULL DEFAULT 0;
ALTER TABLE "Member" ADD COLUMN "LastEventSequence" BIGINT NOT NULL DEFAULT 0;
ALTER TABLE "Office" ADD COLUMN "LastEventSequence" BIGINT NOT NULL DEFAULT 0;
ALTER TABLE "Media" ADD COLUMN "LastEventSequence" BIGINT NOT NULL DEFAULT 0;
ALTER TABLE "Rooms" ADD COLUMN "LastEventSequence" BIGINT NOT NULL DEFAULT 0;
ALTER TABLE "OpenHouse" ADD COLUMN "LastEventSequence" BIGINT NOT NULL DEFAULT 0;
ALTER TABLE "Lookup" ADD COLUMN "LastEventSequence" BIGINT NOT NULL DEFAULT 0;

-- Writes one event, a row for each of its audiences.
CREATE FUNCTION write_event(sequence bigint, at timestamptz, resource text, key text, listing text, audiences text[], changed_by text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  -- The common case is a statement without a scan.
  IF cardinality(audiences) = 1 THEN
    INSERT INTO "EntityEvent" ("EntityEventSequence", "EventTimestamp", "ResourceName", "ResourceRecordKey", "ResourceRecordUrl", "Audience", "PropertyKey", "ChangedByMemberKey")
    VALUES (sequence, at, resource, key, record_url(resource, key), audiences[1], listing, changed_by);
  ELSE
    INSERT INTO "EntityEvent" ("EntityEventSequence", "EventTimestamp", "ResourceName", "ResourceRecordKey", "ResourceRecordUrl", "Audience", "EarlierAudiences", "PropertyKey", "ChangedByMemberKey")
    SELECT sequence, at, resource, key, record_url(resource, key), audience, audiences[:i - 1], listing, changed_by
    FROM unnest(coalesce(audiences, ARRAY['staff'])) WITH ORDINALITY each (audience, i);
  END IF;
END
$$;

-- Records of existing databases. Those without an event get one.
DO $$
DECLARE
  resource text;
  key text;
  listing text;
  audiences text;
BEGIN
  FOR resource, key, listing, audiences IN VALUES
    ('Lookup', 'LookupKey', 'NULL', 'ARRAY[''public'']'),
    ('Member', 'MemberKey', 'NULL', 'ARRAY[''public'']'),
    ('Office', 'OfficeKey', 'NULL', 'ARRAY[''public'']'),
    ('Property', 'ListingKey', 'r."ListingKey"', 'listing_audiences(r."StandardStatus", r."InternetEntireListingDisplayYN", r."ListAgentKey", r."ListOfficeKey")'),
    ('Media', 'MediaKey', 'r."PropertyKey"', 'media_audiences(r."ResourceName", r."PropertyKey")'),
    ('Rooms', 'RoomKey', 'r."ListingKey"', 'audiences_of_listing(r."ListingKey")'),
    ('OpenHouse', 'OpenHouseKey', 'r."ListingKey"', 'audiences_of_listing(r."ListingKey")')
  LOOP
    EXECUTE format('SELECT write_event(nextval(''entity_event_sequence''), clock_timestamp(), %1$L, r.%2$I, %3$s, %4$s, NULL) FROM %1$I r
      WHERE NOT EXISTS (SELECT FROM "EntityEvent" e WHERE e."ResourceName" = %1$L AND e."ResourceRecordKey" = r.%2$I)', resource, key, listing, audiences);
    EXECUTE format('ALTER TABLE %I DISABLE TRIGGER USER', resource);
    EXECUTE format('UPDATE %1$I r SET "LastEventSequence" = last.sequence FROM (SELECT "ResourceRecordKey", max("EntityEventSequence") AS sequence FROM "EntityEvent"
      WHERE "ResourceName" = %1$L GROUP BY 1) last WHERE last."ResourceRecordKey" = r.%2$I', resource, key);
    EXECUTE format('ALTER TABLE %I ENABLE TRIGGER USER', resource);
    EXECUTE format('CREATE INDEX %I ON %I ("LastEventSequence", %I)', resource || '_LastEventSequence_idx', resource, key);
  END LOOP;
END
$$;

-- Times. An event has the time of its change, and times do not fall in the order of numbers: an import, whose records bring their own times, moves the clock once for
-- each of its statements, and all events of a statement have that time.

CREATE FUNCTION is_touch() RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT coalesce(current_setting('listing.touch', true), '') = 'on';
$$;

CREATE FUNCTION event_time() RETURNS timestamptz LANGUAGE plpgsql AS $$
BEGIN
  IF is_import() THEN
    RETURN timestamptz 'epoch' + coalesce(pg_sequence_last_value('change_clock'), 0) * interval '1 millisecond';
  END IF;
  RETURN next_change_time();
END
$$;

CREATE OR REPLACE FUNCTION lock_change_log_first() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF lock_change_log() IS NULL THEN
    RETURN NULL;
  END IF;
  IF is_import() AND pg_trigger_depth() = 1 AND next_change_time() IS NULL THEN
    RETURN NULL;
  END IF;
  RETURN NULL;
END
$$;

-- The number of the event is taken here, with the time, before the row is written: it stands in the row, and no second UPDATE is needed. The event follows when the row is there.
CREATE OR REPLACE FUNCTION stamp_record() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'UPDATE' THEN
    NEW."RecordVersion" := nextval('record_version');
  END IF;
  NEW."LastEventSequence" := next_event();
  IF NOT is_import() OR is_touch() THEN
    NEW."ModificationTimestamp" := event_time();
  END IF;
  RETURN NEW;
END
$$;

-- The log of a listing.
CREATE OR REPLACE FUNCTION log_property() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  audiences text[] := listing_audiences(NEW."StandardStatus", NEW."InternetEntireListingDisplayYN", NEW."ListAgentKey", NEW."ListOfficeKey");
BEGIN
  IF TG_OP = 'UPDATE' AND OLD."ListingKey" = NEW."ListingKey" THEN
    audiences := union_of_audiences(audiences, listing_audiences(OLD."StandardStatus", OLD."InternetEntireListingDisplayYN", OLD."ListAgentKey", OLD."ListOfficeKey"));
  END IF;
  IF write_event(NEW."LastEventSequence", CASE WHEN is_import() THEN event_time() ELSE NEW."ModificationTimestamp" END, 'Property', NEW."ListingKey", NEW."ListingKey",
    audiences, NEW."ChangedByMemberKey") IS NULL THEN
    RETURN NULL;
  END IF;
  RETURN NULL;
END
$$;

-- A listing is gone, or has got another key.
CREATE FUNCTION log_property_removal() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM write_event(next_event(), event_time(), 'Property', OLD."ListingKey", OLD."ListingKey",
    listing_audiences(OLD."StandardStatus", OLD."InternetEntireListingDisplayYN", OLD."ListAgentKey", OLD."ListOfficeKey"), NULL);
  RETURN CASE WHEN TG_OP = 'UPDATE' THEN NEW ELSE OLD END;
END
$$;

DO $$
DECLARE
  resource text;
  name text;
BEGIN
  FOREACH resource IN ARRAY ARRAY['Property', 'Member', 'Office', 'Media', 'Rooms', 'OpenHouse'] LOOP
    FOREACH name IN ARRAY ARRAY['log_insert', 'log_update', 'log_delete'] LOOP
      EXECUTE format('DROP TRIGGER %I ON %I', name, resource);
    END LOOP;
  END LOOP;
END
$$;
DROP FUNCTION log_removal(), log_member(), log_office(), log_media(), log_rooms(), log_openhouse(), listing_audience(text);

CREATE TRIGGER log_change AFTER INSERT OR UPDATE ON "Property" FOR EACH ROW EXECUTE FUNCTION log_property();
CREATE TRIGGER log_delete AFTER DELETE ON "Property" FOR EACH ROW EXECUTE FUNCTION log_property_removal();
CREATE TRIGGER log_old_key BEFORE UPDATE OF "ListingKey" ON "Property" FOR EACH ROW WHEN (OLD."ListingKey" <> NEW."ListingKey") EXECUTE FUNCTION log_property_removal();

-- The logs of the other tables differ in their key, the listing that a record belongs to, and the audiences. A record that moves to another listing is told to the readers
-- of both, without the key of either.
DO $$
DECLARE
  resource text;
  key text;
  listing text;
  audiences text;
BEGIN
  FOR resource, key, listing, audiences IN VALUES
    ('Member', 'MemberKey', '', 'ARRAY[''public'']'), ('Office', 'OfficeKey', '', 'ARRAY[''public'']'), ('Lookup', 'LookupKey', '', 'ARRAY[''public'']'),
    ('Media', 'MediaKey', 'PropertyKey', 'media_audiences(%1$s."ResourceName", %1$s."PropertyKey")'),
    ('Rooms', 'RoomKey', 'ListingKey', 'audiences_of_listing(%1$s."ListingKey")'),
    ('OpenHouse', 'OpenHouseKey', 'ListingKey', 'audiences_of_listing(%1$s."ListingKey")')
  LOOP
    EXECUTE format($function$
CREATE FUNCTION %1$I() RETURNS trigger LANGUAGE plpgsql AS $body$
DECLARE
  audiences text[] := %3$s;
  listing text := %4$s;
BEGIN
  %5$s
  IF write_event(NEW."LastEventSequence", CASE WHEN is_import() THEN event_time() ELSE NEW."ModificationTimestamp" END, %6$L, NEW.%2$I, listing, audiences, NULL) IS NULL THEN
    RETURN NULL;
  END IF;
  RETURN NULL;
END
$body$ $function$, 'log_' || lower(resource), key,
      format(audiences, 'NEW'), CASE listing WHEN '' THEN 'NULL' ELSE format('NEW.%I', listing) END,
      CASE listing WHEN '' THEN '' ELSE format('IF TG_OP = ''UPDATE'' AND OLD.%1$I IS DISTINCT FROM NEW.%1$I THEN
    audiences := union_of_audiences(audiences, %2$s);
    listing := NULL;
  END IF;', listing, format(audiences, 'OLD')) END, resource);
    EXECUTE format($function$
CREATE FUNCTION %1$I() RETURNS trigger LANGUAGE plpgsql AS $body$
BEGIN
  PERFORM write_event(next_event(), event_time(), %2$L, OLD.%3$I, %4$s, %5$s, NULL);
  RETURN CASE WHEN TG_OP = 'UPDATE' THEN NEW ELSE OLD END;
END
$body$ $function$, 'log_' || lower(resource) || '_removal', resource, key,
      CASE listing WHEN '' THEN 'NULL' ELSE format('OLD.%I', listing) END, format(audiences, 'OLD'));
    EXECUTE format('CREATE TRIGGER log_change AFTER INSERT OR UPDATE ON %I FOR EACH ROW EXECUTE FUNCTION %I()', resource, 'log_' || lower(resource));
    EXECUTE format('CREATE TRIGGER log_delete AFTER DELETE ON %I FOR EACH ROW EXECUTE FUNCTION %I()', resource, 'log_' || lower(resource) || '_removal');
    EXECUTE format('CREATE TRIGGER log_old_key BEFORE UPDATE OF %2$I ON %1$I FOR EACH ROW WHEN (OLD.%2$I <> NEW.%2$I) EXECUTE FUNCTION %3$I()',
      resource, key, 'log_' || lower(resource) || '_removal');
  END LOOP;
END
$$;

-- A change of who can see a listing is a change of its photos, rooms and open houses too: each gets an event, a number and a time. Those that disappear are logged before their
-- listing, those that appear after it; if the listing goes from one reader to another, both.
CREATE FUNCTION touch_children(listing text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM set_config('listing.touch', 'on', true);
  UPDATE "Media" SET "LastEventSequence" = 0 WHERE "PropertyKey" = listing;
  UPDATE "Rooms" SET "LastEventSequence" = 0 WHERE "ListingKey" = listing;
  UPDATE "OpenHouse" SET "LastEventSequence" = 0 WHERE "ListingKey" = listing;
  PERFORM set_config('listing.touch', '', true);
END
$$;

CREATE FUNCTION hide_children() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF loses_audience(listing_audiences(OLD."StandardStatus", OLD."InternetEntireListingDisplayYN", OLD."ListAgentKey", OLD."ListOfficeKey"),
    listing_audiences(NEW."StandardStatus", NEW."InternetEntireListingDisplayYN", NEW."ListAgentKey", NEW."ListOfficeKey")) THEN
    PERFORM touch_children(OLD."ListingKey");
  END IF;
  RETURN NEW;
END
$$;

CREATE FUNCTION show_children() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF loses_audience(listing_audiences(NEW."StandardStatus", NEW."InternetEntireListingDisplayYN", NEW."ListAgentKey", NEW."ListOfficeKey"),
    listing_audiences(OLD."StandardStatus", OLD."InternetEntireListingDisplayYN", OLD."ListAgentKey", OLD."ListOfficeKey")) THEN
    PERFORM touch_children(NEW."ListingKey");
  END IF;
  RETURN NULL;
END
$$;

-- Triggers of one kind run in the order of their names: hide_children before stamp_record, which takes the number of the listing.
CREATE TRIGGER hide_children BEFORE UPDATE OF "StandardStatus", "InternetEntireListingDisplayYN", "ListAgentKey", "ListOfficeKey" ON "Property" FOR EACH ROW
  WHEN ((OLD."StandardStatus", OLD."InternetEntireListingDisplayYN", OLD."ListAgentKey", OLD."ListOfficeKey")
    IS DISTINCT FROM (NEW."StandardStatus", NEW."InternetEntireListingDisplayYN", NEW."ListAgentKey", NEW."ListOfficeKey")) EXECUTE FUNCTION hide_children();
CREATE TRIGGER show_children AFTER UPDATE OF "StandardStatus", "InternetEntireListingDisplayYN", "ListAgentKey", "ListOfficeKey" ON "Property" FOR EACH ROW
  WHEN ((OLD."StandardStatus", OLD."InternetEntireListingDisplayYN", OLD."ListAgentKey", OLD."ListOfficeKey")
    IS DISTINCT FROM (NEW."StandardStatus", NEW."InternetEntireListingDisplayYN", NEW."ListAgentKey", NEW."ListOfficeKey")) EXECUTE FUNCTION show_children();

-- Children are deleted first, while their listing still says who can see them. The foreign keys find nothing left.
CREATE FUNCTION delete_children() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM set_config('listing.touch', 'on', true);
  DELETE FROM "Media" WHERE "PropertyKey" = OLD."ListingKey";
  DELETE FROM "Rooms" WHERE "ListingKey" = OLD."ListingKey";
  DELETE FROM "OpenHouse" WHERE "ListingKey" = OLD."ListingKey";
  PERFORM set_config('listing.touch', '', true);
  RETURN OLD;
END
$$;
CREATE TRIGGER delete_children BEFORE DELETE ON "Property" FOR EACH ROW EXECUTE FUNCTION delete_children();

-- Media follow a listing to its new key.
CREATE FUNCTION rename_media() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE "Media" SET "ResourceRecordKey" = NEW."ListingKey" WHERE "ResourceName" = 'Property' AND "ResourceRecordKey" = OLD."ListingKey";
  RETURN NULL;
END
$$;
CREATE TRIGGER rename_media AFTER UPDATE OF "ListingKey" ON "Property" FOR EACH ROW WHEN (OLD."ListingKey" <> NEW."ListingKey") EXECUTE FUNCTION rename_media();

-- The photos of a listing are counted where media come, go or change; of those that move, in both listings, also by an import.
CREATE OR REPLACE FUNCTION count_photos() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT is_import() AND NOT is_touch() THEN
    PERFORM count_photos_of(ARRAY(SELECT DISTINCT "PropertyKey" FROM changed WHERE "PropertyKey" IS NOT NULL));
  END IF;
  RETURN NULL;
END
$$;

CREATE FUNCTION count_photos_of(listings text[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF listings <> '{}' THEN
    UPDATE "Property" p SET
      "PhotosCount" = (SELECT count(*) FROM "Media" m WHERE m."PropertyKey" = p."ListingKey" AND m."MediaCategory" = 'Photo'),
      "PhotosChangeTimestamp" = date_trunc('milliseconds', clock_timestamp()),
      "MediaChangeTimestamp" = date_trunc('milliseconds', clock_timestamp())
    WHERE p."ListingKey" = ANY (listings);
  END IF;
END
$$;

CREATE FUNCTION count_photos_of_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF is_touch() THEN
    RETURN NULL;
  ELSIF is_import() THEN
    PERFORM count_photos_of(ARRAY(SELECT DISTINCT unnest(ARRAY[o."PropertyKey", n."PropertyKey"]) FROM formerly o JOIN changed n USING ("MediaKey")
      WHERE o."PropertyKey" IS DISTINCT FROM n."PropertyKey"));
  ELSE
    PERFORM count_photos_of(ARRAY(SELECT "PropertyKey" FROM formerly UNION SELECT "PropertyKey" FROM changed));
  END IF;
  RETURN NULL;
END
$$;
DROP TRIGGER photos_update ON "Media";
CREATE TRIGGER photos_update AFTER UPDATE ON "Media" REFERENCING OLD TABLE AS formerly NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION count_photos_of_changed();

ANALYZE "EntityEvent", "Property", "Media", "Rooms", "OpenHouse", "Member", "Office", "Lookup";
