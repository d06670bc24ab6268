-- Feeds: data licences such as IDX or VOW. A feed narrows what its clients read. docs/partners.md and docs/architecture.md describe them.

CREATE TABLE "admin"."Feed" (
  "FeedId" INTEGER GENERATED ALWAYS AS IDENTITY CONSTRAINT "Feed_pkey" PRIMARY KEY,
  "FeedName" TEXT COLLATE "C" NOT NULL CONSTRAINT "Feed_FeedName_check" CHECK ("FeedName" ~ '^[A-Za-z0-9._-]{1,100}$'),
  -- An OData filter over Property. `true` shows all listings.
  "Filter" TEXT NOT NULL CONSTRAINT "Feed_Filter_check" CHECK ("Filter" <> ''),
  -- The same as SQL over the row r0. The service compiles it (src/service/feeds/feed-filter.ts).
  "FilterSql" TEXT NOT NULL,
  -- Fields of Property that are hidden, or the only ones that are shown.
  "HiddenFields" TEXT[] NOT NULL DEFAULT '{}',
  "OnlyFields" TEXT[],
  -- NULL: as the service is set.
  "TopIsTotal" BOOLEAN,
  "PageSize" INTEGER CONSTRAINT "Feed_PageSize_check" CHECK ("PageSize" > 0),
  "PageSizeMax" INTEGER CONSTRAINT "Feed_PageSizeMax_check" CHECK ("PageSizeMax" > 0),
  -- Days after CloseDate at which SoldPrice and ClosePrice show. NULL: at once.
  "SoldPriceDelayDays" INTEGER CONSTRAINT "Feed_SoldPriceDelayDays_check" CHECK ("SoldPriceDelayDays" BETWEEN 1 AND 36500),
  "ShowsMedia" BOOLEAN NOT NULL DEFAULT true,
  "ShowsOpenHouses" BOOLEAN NOT NULL DEFAULT true,
  "ShowsMembers" BOOLEAN NOT NULL DEFAULT true,
  "CreationTimestamp" TIMESTAMPTZ(3) NOT NULL DEFAULT clock_timestamp(),
  "ModificationTimestamp" TIMESTAMPTZ(3) NOT NULL DEFAULT clock_timestamp(),
  "RemovedTimestamp" TIMESTAMPTZ(3),
  -- NULL while the listings of the feed are computed.
  "ComputedTimestamp" TIMESTAMPTZ(3),
  -- Positions in the change log below it are refused: the readers have values that the feed hides now, or lack others.
  "LogFloor" BIGINT NOT NULL DEFAULT 0,
  "Version" BIGINT NOT NULL DEFAULT 0,
  CONSTRAINT "Feed_page_sizes_check" CHECK ("PageSize" <= "PageSizeMax")
);
CREATE UNIQUE INDEX "Feed_FeedName_key" ON "admin"."Feed" ("FeedName") WHERE "RemovedTimestamp" IS NULL;
CREATE INDEX "Feed_Version_idx" ON "admin"."Feed" ("Version");
-- The columns that the service processes read.
CREATE TRIGGER stamp_version BEFORE INSERT OR UPDATE OF "FeedName", "Filter", "FilterSql", "HiddenFields", "OnlyFields", "TopIsTotal", "PageSize", "PageSizeMax", "SoldPriceDelayDays",
  "ShowsMedia", "ShowsOpenHouses", "ShowsMembers", "RemovedTimestamp" ON "admin"."Feed" FOR EACH ROW EXECUTE FUNCTION "admin".stamp_version();
CREATE TRIGGER refuse_delete BEFORE DELETE OR TRUNCATE ON "admin"."Feed" FOR EACH STATEMENT EXECUTE FUNCTION "admin".refuse_delete();

-- The listings of each feed, as the triggers of Property keep them. It is no column of Property, so that a change of a feed rewrites no listing.
CREATE TABLE "admin"."FeedListing" (
  "FeedId" INTEGER NOT NULL,
  "ListingKey" TEXT COLLATE "C" NOT NULL,
  -- False for a listing that has left the feed by a change of its filter, until its events are written.
  "IsShown" BOOLEAN NOT NULL DEFAULT true,
  "ShowsSoldPrice" BOOLEAN NOT NULL DEFAULT true,
  CONSTRAINT "FeedListing_pkey" PRIMARY KEY ("FeedId", "ListingKey")
);
CREATE INDEX "FeedListing_ListingKey_idx" ON "admin"."FeedListing" ("ListingKey", "FeedId");
CREATE INDEX "FeedListing_delayed_idx" ON "admin"."FeedListing" ("FeedId", "ListingKey") WHERE NOT "ShowsSoldPrice";

CREATE FUNCTION "admin".has_feeds() RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT EXISTS (SELECT FROM "admin"."Feed" WHERE "RemovedTimestamp" IS NULL);
$$;

-- The ids of the feeds whose filters a listing meets, or NULL if there are no feeds. compile_feeds() replaces it.
CREATE FUNCTION "admin".feeds_of(r0 "Property") RETURNS integer[] LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN NULL;
END
$$;

-- Writes the filters of all feeds into feeds_of(). A filter that fails on a listing (a division by zero, a lost column) leaves this listing out of its feed, and nothing else.
-- Only the owner of a function can replace it, so this function has the rights of who migrates. The filters come from the service, which may write every listing anyway.
CREATE FUNCTION "admin".compile_feeds() RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
  together text;
  apart text;
BEGIN
  SELECT string_agg(format('CASE WHEN %s THEN %s END', "FilterSql", "FeedId"), E',\n' ORDER BY "FeedId"),
    string_agg(format(E'BEGIN\nIF %s THEN\nfound := found || %s;\nEND IF;\nEXCEPTION WHEN OTHERS THEN\nNULL;\nEND;', "FilterSql", "FeedId"), E'\n' ORDER BY "FeedId")
    INTO together, apart FROM "admin"."Feed" WHERE "RemovedTimestamp" IS NULL;
  EXECUTE format('CREATE OR REPLACE FUNCTION "admin".feeds_of(r0 "Property") RETURNS integer[] LANGUAGE plpgsql STABLE AS %L',
    coalesce(format(E'DECLARE\nfound integer[] := ''{}'';\nBEGIN\nRETURN array_remove(ARRAY[%s], NULL);\nEXCEPTION WHEN OTHERS THEN\n%s\nRETURN found;\nEND', together, apart),
      E'BEGIN\nRETURN NULL;\nEND'));
END
$$;
REVOKE EXECUTE ON FUNCTION "admin".compile_feeds() FROM PUBLIC;

-- The feeds that a listing is stored in, or NULL if there are no feeds.
CREATE FUNCTION "admin".stored_feeds(key text) RETURNS integer[] LANGUAGE plpgsql STABLE AS $$
BEGIN
  IF NOT "admin".has_feeds() THEN
    RETURN NULL;
  END IF;
  RETURN ARRAY(SELECT "FeedId" FROM "admin"."FeedListing" WHERE "ListingKey" = key ORDER BY "FeedId");
END
$$;

-- True if the sold price of a listing shows in a feed today (UTC).
CREATE FUNCTION "admin".shows_sold_price(delay integer, closed date) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT delay IS NULL OR coalesce(closed + delay <= (clock_timestamp() AT TIME ZONE 'UTC')::date, false);
$$;

CREATE FUNCTION "admin".store_feeds(listing text, closed date, feeds integer[], former integer[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF NOT former <@ feeds THEN
    DELETE FROM "admin"."FeedListing" WHERE "ListingKey" = listing AND "FeedId" <> ALL (feeds);
  END IF;
  IF feeds <> '{}' THEN
    INSERT INTO "admin"."FeedListing" AS stored ("FeedId", "ListingKey", "ShowsSoldPrice")
    SELECT "FeedId", listing, "admin".shows_sold_price("SoldPriceDelayDays", closed) FROM "admin"."Feed"
    WHERE "FeedId" = ANY (feeds) AND ("SoldPriceDelayDays" IS NOT NULL OR "FeedId" <> ALL (former) OR "ComputedTimestamp" IS NULL)
    ON CONFLICT ("FeedId", "ListingKey") DO UPDATE SET "IsShown" = true, "ShowsSoldPrice" = excluded."ShowsSoldPrice"
    WHERE NOT stored."IsShown" OR stored."ShowsSoldPrice" <> excluded."ShowsSoldPrice";
  END IF;
END
$$;

-- The readers through feeds have audiences of their own, since `public` includes them no longer: `feed:` with the id of the feed and `public` or `member` (who may see listings that
-- are not displayed), `feeds:agent:` and `feeds:office:` for tokens that may write the listings of these, `feeds` for all, `feeds:members` for those of feeds that show members.
CREATE FUNCTION "admin".feed_audiences(feeds integer[], status text, displayed boolean, agent text, office text) RETURNS text[] LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
  IF feeds IS NULL THEN
    RETURN '{}';
  END IF;
  RETURN array_remove(ARRAY['feeds:agent:' || agent, 'feeds:office:' || office], NULL) || CASE WHEN status IS DISTINCT FROM 'Incomplete' AND feeds <> '{}'
    THEN ARRAY(SELECT 'feed:' || feed || CASE WHEN displayed IS DISTINCT FROM false THEN ':public' ELSE ':member' END FROM unnest(feeds) feed) ELSE '{}' END;
END
$$;

CREATE FUNCTION "admin".shared_audiences(feed_audience text) RETURNS text[] LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN CASE WHEN "admin".has_feeds() THEN ARRAY['public', feed_audience] ELSE ARRAY['public'] END;
END
$$;

CREATE OR REPLACE FUNCTION audiences_of_listing(key text) RETURNS text[] LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN (SELECT listing_audiences("StandardStatus", "InternetEntireListingDisplayYN", "ListAgentKey", "ListOfficeKey")
    || "admin".feed_audiences("admin".stored_feeds(key), "StandardStatus", "InternetEntireListingDisplayYN", "ListAgentKey", "ListOfficeKey")
    FROM "Property" WHERE "ListingKey" = key);
END
$$;

CREATE OR REPLACE FUNCTION media_audiences(resource text, listing text) RETURNS text[] LANGUAGE plpgsql STABLE AS $$
BEGIN
  IF listing IS NOT NULL THEN
    RETURN audiences_of_listing(listing);
  END IF;
  RETURN CASE WHEN resource = 'Property' THEN ARRAY['staff'] ELSE "admin".shared_audiences('feeds:members') END;
END
$$;

-- The audiences of both, without those that `public` includes. Null stands for none.
CREATE OR REPLACE FUNCTION union_of_audiences(a text[], b text[]) RETURNS text[] LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
  IF a = b OR b IS NULL THEN
    RETURN a;
  ELSIF a IS NULL THEN
    RETURN b;
  ELSIF 'public' = ANY (a) OR 'public' = ANY (b) THEN
    RETURN ARRAY['public'] || ARRAY(SELECT DISTINCT audience FROM unnest(a || b) audience WHERE audience LIKE 'feed%' ORDER BY audience);
  END IF;
  RETURN ARRAY(SELECT DISTINCT audience FROM unnest(a || b) audience ORDER BY audience);
END
$$;

-- True if some reader of `former` is not a reader of `latter`.
CREATE OR REPLACE FUNCTION loses_audience(former text[], latter text[]) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT EXISTS (SELECT FROM unnest(former) audience WHERE audience <> ALL (latter)
    AND CASE WHEN audience LIKE 'feed:%' THEN replace(audience, ':member', ':public') <> ALL (latter) WHEN audience LIKE 'feeds:%' THEN true ELSE 'public' <> ALL (latter) END);
$$;

-- The log of a listing, and the feeds of a new one.
CREATE OR REPLACE FUNCTION log_property() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  feeds integer[] := "admin".feeds_of(NEW);
  former integer[];
  audiences text[] := listing_audiences(NEW."StandardStatus", NEW."InternetEntireListingDisplayYN", NEW."ListAgentKey", NEW."ListOfficeKey");
BEGIN
  IF feeds IS NOT NULL THEN
    former := "admin".stored_feeds(NEW."ListingKey");
    audiences := audiences || "admin".feed_audiences(feeds, NEW."StandardStatus", NEW."InternetEntireListingDisplayYN", NEW."ListAgentKey", NEW."ListOfficeKey");
    IF TG_OP = 'INSERT' OR OLD."ListingKey" <> NEW."ListingKey" THEN
      PERFORM "admin".store_feeds(NEW."ListingKey", NEW."CloseDate", feeds, former);
    END IF;
  END IF;
  IF TG_OP = 'UPDATE' AND OLD."ListingKey" = NEW."ListingKey" THEN
    audiences := union_of_audiences(audiences, listing_audiences(OLD."StandardStatus", OLD."InternetEntireListingDisplayYN", OLD."ListAgentKey", OLD."ListOfficeKey")
      || "admin".feed_audiences(former, OLD."StandardStatus", OLD."InternetEntireListingDisplayYN", OLD."ListAgentKey", OLD."ListOfficeKey"));
  END IF;
  IF write_event(NEW."LastEventSequence", CASE WHEN is_import() THEN event_time() ELSE NEW."ModificationTimestamp" END, 'Property', NEW."ListingKey", NEW."ListingKey",
    audiences, NEW."ChangedByMemberKey") IS NULL THEN
    RETURN NULL;
  END IF;
  RETURN NULL;
END
$$;

CREATE OR REPLACE FUNCTION log_property_removal() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM write_removal(next_event(), event_time(), 'Property', OLD."ListingKey", OLD."ListingKey",
    listing_audiences(OLD."StandardStatus", OLD."InternetEntireListingDisplayYN", OLD."ListAgentKey", OLD."ListOfficeKey")
    || "admin".feed_audiences("admin".stored_feeds(OLD."ListingKey"), OLD."StandardStatus", OLD."InternetEntireListingDisplayYN", OLD."ListAgentKey", OLD."ListOfficeKey"), NULL);
  DELETE FROM "admin"."FeedListing" WHERE "ListingKey" = OLD."ListingKey";
  RETURN CASE WHEN TG_OP = 'UPDATE' THEN NEW ELSE OLD END;
END
$$;

-- Events of members, offices and lookups are for the readers through feeds too.
DO $$
DECLARE
  resource text;
  key text;
  audiences text;
BEGIN
  FOR resource, key, audiences IN VALUES
    ('Member', 'MemberKey', '"admin".shared_audiences(''feeds:members'')'), ('Office', 'OfficeKey', '"admin".shared_audiences(''feeds:members'')'),
    ('Lookup', 'LookupKey', '"admin".shared_audiences(''feeds'')')
  LOOP
    EXECUTE format($function$
CREATE OR REPLACE FUNCTION %1$I() RETURNS trigger LANGUAGE plpgsql AS $body$
BEGIN
  IF write_event(NEW."LastEventSequence", CASE WHEN is_import() THEN event_time() ELSE NEW."ModificationTimestamp" END, %2$L, NEW.%3$I, NULL, %4$s, NULL) IS NULL THEN
    RETURN NULL;
  END IF;
  RETURN NULL;
END
$body$ $function$, 'log_' || lower(resource), resource, key, audiences);
    EXECUTE format($function$
CREATE OR REPLACE FUNCTION %1$I() RETURNS trigger LANGUAGE plpgsql AS $body$
BEGIN
  PERFORM write_removal(next_event(), event_time(), %2$L, OLD.%3$I, NULL, %4$s, NULL);
  RETURN CASE WHEN TG_OP = 'UPDATE' THEN NEW ELSE OLD END;
END
$body$ $function$, 'log_' || lower(resource) || '_removal', resource, key, audiences);
  END LOOP;
END
$$;

-- An edit that moves a listing into a feed or out of it is a change of its photos, rooms and open houses, as any change of who can see it. The feeds follow from every field, so these
-- triggers run for each update. The position of a listing is computed before them.
ALTER TRIGGER write_position ON "Property" RENAME TO assign_position;
DROP TRIGGER hide_children ON "Property";
DROP TRIGGER show_children ON "Property";

CREATE OR REPLACE FUNCTION hide_children() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  feeds integer[] := "admin".feeds_of(NEW);
BEGIN
  IF feeds IS NULL AND (OLD."StandardStatus", OLD."InternetEntireListingDisplayYN", OLD."ListAgentKey", OLD."ListOfficeKey")
    IS NOT DISTINCT FROM (NEW."StandardStatus", NEW."InternetEntireListingDisplayYN", NEW."ListAgentKey", NEW."ListOfficeKey") THEN
    RETURN NEW;
  END IF;
  IF loses_audience(audiences_of_listing(OLD."ListingKey"), listing_audiences(NEW."StandardStatus", NEW."InternetEntireListingDisplayYN", NEW."ListAgentKey", NEW."ListOfficeKey")
    || "admin".feed_audiences(feeds, NEW."StandardStatus", NEW."InternetEntireListingDisplayYN", NEW."ListAgentKey", NEW."ListOfficeKey")) THEN
    PERFORM touch_children(OLD."ListingKey");
  END IF;
  RETURN NEW;
END
$$;

-- It also stores the feeds of a changed listing, after log_property has compared them with those before.
CREATE OR REPLACE FUNCTION show_children() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  feeds integer[] := "admin".feeds_of(NEW);
  former integer[];
BEGIN
  IF feeds IS NOT NULL THEN
    former := "admin".stored_feeds(NEW."ListingKey");
    PERFORM "admin".store_feeds(NEW."ListingKey", NEW."CloseDate", feeds, former);
  ELSIF (OLD."StandardStatus", OLD."InternetEntireListingDisplayYN", OLD."ListAgentKey", OLD."ListOfficeKey")
    IS NOT DISTINCT FROM (NEW."StandardStatus", NEW."InternetEntireListingDisplayYN", NEW."ListAgentKey", NEW."ListOfficeKey") THEN
    RETURN NULL;
  END IF;
  IF loses_audience(listing_audiences(NEW."StandardStatus", NEW."InternetEntireListingDisplayYN", NEW."ListAgentKey", NEW."ListOfficeKey")
      || "admin".feed_audiences(feeds, NEW."StandardStatus", NEW."InternetEntireListingDisplayYN", NEW."ListAgentKey", NEW."ListOfficeKey"),
    listing_audiences(OLD."StandardStatus", OLD."InternetEntireListingDisplayYN", OLD."ListAgentKey", OLD."ListOfficeKey")
      || "admin".feed_audiences(former, OLD."StandardStatus", OLD."InternetEntireListingDisplayYN", OLD."ListAgentKey", OLD."ListOfficeKey")) THEN
    PERFORM touch_children(NEW."ListingKey");
  END IF;
  RETURN NULL;
END
$$;

CREATE TRIGGER hide_children BEFORE UPDATE ON "Property" FOR EACH ROW EXECUTE FUNCTION hide_children();
CREATE TRIGGER show_children AFTER UPDATE ON "Property" FOR EACH ROW EXECUTE FUNCTION show_children();

-- Events of a change of a feed. The records are the same, and only the readers through this feed get the events. Nobody has the audience `none`: it keeps the rows from readers of all
-- events, who take the first row of each.
CREATE FUNCTION "admin".write_feed_event(resource text, key text, listing text, audience text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO "EntityEvent" ("EntityEventSequence", "EventTimestamp", "ResourceName", "ResourceRecordKey", "ResourceRecordUrl", "Audience", "EarlierAudiences", "PropertyKey")
  VALUES (next_event(), event_time(), resource, key, record_url(resource, key), audience, ARRAY['none'], listing);
END
$$;

CREATE FUNCTION "admin".write_feed_events_of_children(listing text, audience text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM "admin".write_feed_event('Media', "MediaKey", listing, audience) FROM "Media" WHERE "PropertyKey" = listing;
  PERFORM "admin".write_feed_event('Rooms', "RoomKey", listing, audience) FROM "Rooms" WHERE "ListingKey" = listing;
  PERFORM "admin".write_feed_event('OpenHouse', "OpenHouseKey", listing, audience) FROM "OpenHouse" WHERE "ListingKey" = listing;
END
$$;

-- Hides the listings that a changed filter leaves out, at once and in one statement. Their events follow.
CREATE FUNCTION "admin".hide_leavers(feed integer) RETURNS void LANGUAGE sql AS $$
  UPDATE "admin"."FeedListing" m SET "IsShown" = false FROM "Property" p
  WHERE m."FeedId" = feed AND p."ListingKey" = m."ListingKey" AND m."IsShown" AND NOT feed = ANY ("admin".feeds_of(p));
$$;

-- Computes a feed for the next `records` listings after a key: writes events for those that enter or leave, and for their children, which leave before their listing and enter after
-- it; a new feed has no readers and needs none. Returns the key of the last listing, or null at the end.
CREATE FUNCTION "admin".compute_feed(feed integer, records integer, writes_events boolean, INOUT key text, OUT entered integer, OUT gone integer) LANGUAGE plpgsql AS $$
DECLARE
  first CONSTANT text := key;
  delay CONSTANT integer := (SELECT "SoldPriceDelayDays" FROM "admin"."Feed" WHERE "FeedId" = feed);
  listing record;
  audience text;
BEGIN
  entered := 0;
  gone := 0;
  PERFORM lock_change_log();
  SELECT max(p."ListingKey") INTO key FROM (SELECT "ListingKey" FROM "Property" WHERE "ListingKey" > first ORDER BY "ListingKey" LIMIT records) p;
  FOR listing IN
    SELECT p."ListingKey" AS key, p."StandardStatus" AS status, p."InternetEntireListingDisplayYN" AS displayed, m."FeedId" IS NOT NULL AND m."IsShown" AS was_in, c.is_in,
      "admin".shows_sold_price(delay, p."CloseDate") AS shows_sold_price
    FROM "Property" p LEFT JOIN "admin"."FeedListing" m ON m."FeedId" = feed AND m."ListingKey" = p."ListingKey",
      LATERAL (SELECT coalesce(feed = ANY ("admin".feeds_of(p)), false) AS is_in) c
    WHERE p."ListingKey" > first AND p."ListingKey" <= key
      AND ((m."FeedId" IS NOT NULL AND m."IsShown") <> c.is_in OR (m."FeedId" IS NOT NULL AND (NOT c.is_in OR m."ShowsSoldPrice" <> "admin".shows_sold_price(delay, p."CloseDate"))))
    ORDER BY p."ListingKey"
  LOOP
    audience := CASE WHEN writes_events AND listing.status IS DISTINCT FROM 'Incomplete' THEN 'feed:' || feed || CASE WHEN listing.displayed IS DISTINCT FROM false THEN ':public' ELSE ':member' END END;
    IF listing.is_in THEN
      INSERT INTO "admin"."FeedListing" ("FeedId", "ListingKey", "ShowsSoldPrice") VALUES (feed, listing.key, listing.shows_sold_price)
      ON CONFLICT ("FeedId", "ListingKey") DO UPDATE SET "IsShown" = true, "ShowsSoldPrice" = excluded."ShowsSoldPrice";
      entered := entered + (NOT listing.was_in)::integer;
    ELSE
      gone := gone + 1;
    END IF;
    IF audience IS NOT NULL THEN
      IF NOT listing.is_in THEN
        PERFORM "admin".write_feed_events_of_children(listing.key, audience);
      END IF;
      PERFORM "admin".write_feed_event('Property', listing.key, listing.key, audience);
      IF listing.is_in AND NOT listing.was_in THEN
        PERFORM "admin".write_feed_events_of_children(listing.key, audience);
      END IF;
    END IF;
    IF NOT listing.is_in THEN
      DELETE FROM "admin"."FeedListing" WHERE "FeedId" = feed AND "ListingKey" = listing.key;
    END IF;
  END LOOP;
END
$$;

-- An event for the readers with an audience, so that their end of the log is a recent one. It is about a record that has not changed. Returns its number.
CREATE FUNCTION "admin".mark_log(audience text) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
  PERFORM lock_change_log();
  PERFORM "admin".write_feed_event('Lookup', coalesce((SELECT min("LookupKey") FROM "Lookup"), 'none'), NULL, audience);
  RETURN (SELECT max("EntityEventSequence") FROM "EntityEvent" WHERE "Audience" = audience);
END
$$;

-- Shows the sold prices whose day has come, of at most `records` listings. Their records get a new number and time, so that every copy hears of it. Returns the number of listings.
-- One process at a time does it.
CREATE FUNCTION "admin".show_due_sold_prices(records integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  due text[];
BEGIN
  IF NOT pg_try_advisory_xact_lock(4611686018427387906) THEN
    RETURN 0;
  END IF;
  due := ARRAY(SELECT DISTINCT m."ListingKey" FROM "admin"."FeedListing" m JOIN "admin"."Feed" f USING ("FeedId") JOIN "Property" p USING ("ListingKey")
    WHERE NOT m."ShowsSoldPrice" AND "admin".shows_sold_price(f."SoldPriceDelayDays", p."CloseDate") LIMIT records);
  IF due <> '{}' THEN
    PERFORM lock_change_log();
    PERFORM set_config('listing.touch', 'on', true);
    UPDATE "Property" SET "LastEventSequence" = 0 WHERE "ListingKey" = ANY (due);
    PERFORM set_config('listing.touch', '', true);
  END IF;
  RETURN cardinality(due);
END
$$;

-- The log of a new identity begins with an event for all readers.
CREATE OR REPLACE FUNCTION begin_log() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM lock_change_log();
  PERFORM setval('entity_event_sequence', coalesce(pg_sequence_last_value('entity_event_sequence'), 0) + 1000000000);
  UPDATE "Lookup" SET "LookupValue" = "LookupValue" WHERE "LookupKey" = (SELECT min("LookupKey") FROM "Lookup");
  IF NOT FOUND THEN
    PERFORM write_event(next_event(), event_time(), 'Lookup', 'none', NULL, "admin".shared_audiences('feeds'), NULL);
  END IF;
  UPDATE "ChangeLog" SET "LogId" = gen_random_uuid()::text, "Floor" = (SELECT max("EntityEventSequence") FROM "EntityEvent") + 1;
  RETURN NULL;
END
$$;

-- The last event that everybody can see is the end of the log, also for the readers through feeds.
CREATE OR REPLACE FUNCTION prune_log(cutoff timestamptz, events int, INOUT sequence bigint, OUT dropped bigint) LANGUAGE plpgsql AS $$
DECLARE
  first CONSTANT bigint := sequence;
  log_end CONSTANT bigint := least((SELECT max("EntityEventSequence") FROM "EntityEvent" WHERE "Audience" = 'public'),
    CASE WHEN "admin".has_feeds() THEN coalesce((SELECT max("EntityEventSequence") FROM "EntityEvent" WHERE "Audience" = 'feeds'), 0) END);
  highest bigint;
BEGIN
  SELECT max(e."EntityEventSequence") INTO sequence FROM (
    SELECT "EntityEventSequence" FROM "EntityEvent" WHERE "EntityEventSequence" > first ORDER BY "EntityEventSequence" LIMIT events) e;
  WITH gone AS (
    DELETE FROM "EntityEvent" e WHERE "EntityEventSequence" > first AND "EntityEventSequence" <= sequence AND "EntityEventSequence" < log_end AND "EventTimestamp" < cutoff
      AND NOT CASE "ResourceName"
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

-- Who may write the change log may write these tables and compile the filters; who may only read it may read the listings of the feeds.
DO $$
DECLARE
  role_name text;
BEGIN
  FOR role_name IN
    SELECT quote_ident(pg_get_userbyid(relowner)) FROM pg_class WHERE oid = '"EntityEvent"'::regclass AND relowner <> current_user::regrole
    UNION SELECT quote_ident(pg_get_userbyid(grantee)) FROM pg_class, aclexplode(relacl)
      WHERE oid = '"EntityEvent"'::regclass AND privilege_type = 'INSERT' AND grantee <> 0 AND grantee <> current_user::regrole
  LOOP
    EXECUTE 'GRANT SELECT, INSERT, UPDATE, DELETE ON "admin"."Feed", "admin"."FeedListing" TO ' || role_name;
    EXECUTE 'GRANT EXECUTE ON FUNCTION "admin".compile_feeds() TO ' || role_name;
  END LOOP;
  FOR role_name IN
    SELECT CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END FROM pg_class, aclexplode(relacl)
      WHERE oid = '"EntityEvent"'::regclass AND privilege_type = 'SELECT' AND grantee <> current_user::regrole
  LOOP
    EXECUTE 'GRANT USAGE ON SCHEMA "admin" TO ' || role_name;
    EXECUTE 'GRANT SELECT ON "admin"."Feed", "admin"."FeedListing" TO ' || role_name;
  END LOOP;
END
$$;
