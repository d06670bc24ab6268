-- Triggers cost less. The audit log and the change log contain the same as before. docs/performance.md has the figures.

-- PostgreSQL puts a function in SQL into the plan of its caller, so that a write calls three functions less.
CREATE OR REPLACE FUNCTION lock_change_log() RETURNS void LANGUAGE sql AS 'SELECT pg_advisory_xact_lock(4611686018427387904)';

-- A statement with a scan, such as the last one here, costs more than the rest of a trigger. Most changes do not need it.
CREATE OR REPLACE FUNCTION loses_audience(former text[], latter text[]) RETURNS boolean LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
  IF former <@ latter OR 'public' = ANY (latter) AND array_to_string(former, ' ') NOT LIKE '%feed%' THEN
    RETURN false;
  END IF;
  RETURN EXISTS (SELECT FROM unnest(former) audience WHERE audience <> ALL (latter)
    AND CASE WHEN audience LIKE 'feed:%' THEN replace(audience, ':member', ':public') <> ALL (latter) WHEN audience LIKE 'feeds:%' THEN true ELSE 'public' <> ALL (latter) END);
END
$$;

-- The feeds of a listing before a change. tracks_feeds() is a constant in the plan; has_feeds() was a statement.
CREATE OR REPLACE FUNCTION "admin".stored_feeds(key text) RETURNS integer[] LANGUAGE plpgsql STABLE AS $$
BEGIN
  IF NOT "admin".tracks_feeds() THEN
    RETURN NULL;
  END IF;
  RETURN ARRAY(SELECT "FeedId" FROM "admin"."FeedListing" WHERE "ListingKey" = key ORDER BY "FeedId");
END
$$;

-- The audiences before and after a change are compared only if something changed on which they depend.
CREATE OR REPLACE FUNCTION hide_children() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  feeds integer[];
  former_feeds integer[];
BEGIN
  IF "admin".tracks_feeds() THEN
    feeds := "admin".feeds_of(NEW);
    former_feeds := "admin".stored_feeds(OLD."ListingKey");
  END IF;
  IF feeds IS NOT DISTINCT FROM former_feeds AND (OLD."StandardStatus", OLD."InternetEntireListingDisplayYN", OLD."ListAgentKey", OLD."ListOfficeKey")
    IS NOT DISTINCT FROM (NEW."StandardStatus", NEW."InternetEntireListingDisplayYN", NEW."ListAgentKey", NEW."ListOfficeKey") THEN
    RETURN NEW;
  END IF;
  IF loses_audience(listing_audiences(OLD."StandardStatus", OLD."InternetEntireListingDisplayYN", OLD."ListAgentKey", OLD."ListOfficeKey")
      || "admin".feed_audiences(former_feeds, OLD."StandardStatus", OLD."InternetEntireListingDisplayYN", OLD."ListAgentKey", OLD."ListOfficeKey"),
    listing_audiences(NEW."StandardStatus", NEW."InternetEntireListingDisplayYN", NEW."ListAgentKey", NEW."ListOfficeKey")
      || "admin".feed_audiences(feeds, NEW."StandardStatus", NEW."InternetEntireListingDisplayYN", NEW."ListAgentKey", NEW."ListOfficeKey")) THEN
    PERFORM touch_children(OLD."ListingKey");
  END IF;
  RETURN NEW;
END
$$;

CREATE OR REPLACE FUNCTION show_children() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  feeds integer[];
  former_feeds integer[];
BEGIN
  IF "admin".tracks_feeds() THEN
    feeds := "admin".feeds_of(NEW);
    former_feeds := "admin".stored_feeds(NEW."ListingKey");
    PERFORM "admin".store_feeds(NEW."ListingKey", NEW."CloseDate", feeds, former_feeds);
  END IF;
  IF feeds IS NOT DISTINCT FROM former_feeds AND (OLD."StandardStatus", OLD."InternetEntireListingDisplayYN", OLD."ListAgentKey", OLD."ListOfficeKey")
    IS NOT DISTINCT FROM (NEW."StandardStatus", NEW."InternetEntireListingDisplayYN", NEW."ListAgentKey", NEW."ListOfficeKey") THEN
    RETURN NULL;
  END IF;
  IF loses_audience(listing_audiences(NEW."StandardStatus", NEW."InternetEntireListingDisplayYN", NEW."ListAgentKey", NEW."ListOfficeKey")
      || "admin".feed_audiences(feeds, NEW."StandardStatus", NEW."InternetEntireListingDisplayYN", NEW."ListAgentKey", NEW."ListOfficeKey"),
    listing_audiences(OLD."StandardStatus", OLD."InternetEntireListingDisplayYN", OLD."ListAgentKey", OLD."ListOfficeKey")
      || "admin".feed_audiences(former_feeds, OLD."StandardStatus", OLD."InternetEntireListingDisplayYN", OLD."ListAgentKey", OLD."ListOfficeKey")) THEN
    PERFORM touch_children(NEW."ListingKey");
  END IF;
  RETURN NULL;
END
$$;

CREATE OR REPLACE FUNCTION log_property() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  feeds integer[];
  former_feeds integer[];
  audiences text[] := listing_audiences(NEW."StandardStatus", NEW."InternetEntireListingDisplayYN", NEW."ListAgentKey", NEW."ListOfficeKey");
BEGIN
  IF "admin".tracks_feeds() THEN
    feeds := "admin".feeds_of(NEW);
    former_feeds := "admin".stored_feeds(NEW."ListingKey");
    audiences := audiences || "admin".feed_audiences(feeds, NEW."StandardStatus", NEW."InternetEntireListingDisplayYN", NEW."ListAgentKey", NEW."ListOfficeKey");
    IF TG_OP = 'INSERT' OR OLD."ListingKey" <> NEW."ListingKey" THEN
      PERFORM "admin".store_feeds(NEW."ListingKey", NEW."CloseDate", feeds, former_feeds);
    END IF;
  END IF;
  IF TG_OP = 'UPDATE' AND OLD."ListingKey" = NEW."ListingKey" AND (feeds IS DISTINCT FROM former_feeds
    OR (OLD."StandardStatus", OLD."InternetEntireListingDisplayYN", OLD."ListAgentKey", OLD."ListOfficeKey")
      IS DISTINCT FROM (NEW."StandardStatus", NEW."InternetEntireListingDisplayYN", NEW."ListAgentKey", NEW."ListOfficeKey")) THEN
    audiences := union_of_audiences(audiences, listing_audiences(OLD."StandardStatus", OLD."InternetEntireListingDisplayYN", OLD."ListAgentKey", OLD."ListOfficeKey")
      || "admin".feed_audiences(former_feeds, OLD."StandardStatus", OLD."InternetEntireListingDisplayYN", OLD."ListAgentKey", OLD."ListOfficeKey"));
  END IF;
  IF write_event(NEW."LastEventSequence", CASE WHEN is_import() THEN event_time() ELSE NEW."ModificationTimestamp" END, 'Property', NEW."ListingKey", NEW."ListingKey",
    audiences, NEW."ChangedByMemberKey") IS NULL THEN
    RETURN NULL;
  END IF;
  RETURN NULL;
END
$$;

CREATE OR REPLACE FUNCTION write_removal(sequence bigint, at timestamptz, resource text, key text, listing text, audiences text[], changed_by text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  -- The common case is a statement without a scan, as in write_event().
  IF cardinality(audiences) = 1 THEN
    INSERT INTO "EntityEvent" ("EntityEventSequence", "EventTimestamp", "ResourceName", "ResourceRecordKey", "ResourceRecordUrl", "Audience", "PropertyKey", "ChangedByMemberKey", "Removed")
    VALUES (sequence, at, resource, key, record_url(resource, key), audiences[1], listing, changed_by, true);
  ELSE
    INSERT INTO "EntityEvent" ("EntityEventSequence", "EventTimestamp", "ResourceName", "ResourceRecordKey", "ResourceRecordUrl", "Audience", "EarlierAudiences", "PropertyKey", "ChangedByMemberKey", "Removed")
    SELECT sequence, at, resource, key, record_url(resource, key), audience, audiences[:i - 1], listing, changed_by, true
    FROM unnest(coalesce(audiences, ARRAY['staff'])) WITH ORDINALITY each (audience, i);
  END IF;
END
$$;

CREATE OR REPLACE FUNCTION log_property_removal() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  audiences text[] := listing_audiences(OLD."StandardStatus", OLD."InternetEntireListingDisplayYN", OLD."ListAgentKey", OLD."ListOfficeKey");
BEGIN
  IF "admin".tracks_feeds() THEN
    audiences := audiences || "admin".feed_audiences("admin".stored_feeds(OLD."ListingKey"), OLD."StandardStatus", OLD."InternetEntireListingDisplayYN", OLD."ListAgentKey", OLD."ListOfficeKey");
    DELETE FROM "admin"."FeedListing" WHERE "ListingKey" = OLD."ListingKey";
  END IF;
  IF write_removal(next_event(), event_time(), 'Property', OLD."ListingKey", OLD."ListingKey", audiences, NULL) IS NULL THEN
    RETURN NULL;
  END IF;
  RETURN CASE WHEN TG_OP = 'UPDATE' THEN NEW ELSE OLD END;
END
$$;

-- The trigger of the audit log. A new or deleted record has a branch for its values. An update compares eight columns at a time, and then the columns of the groups that differ.
CREATE OR REPLACE FUNCTION "admin".create_audit_trigger(resource text, key text) RETURNS void LANGUAGE plpgsql AS $outer$
DECLARE
  name text := 'audit_' || lower(resource);
  members text;
  changes text;
  changed_by text;
BEGIN
  SELECT
    string_agg(format($group$
    IF num_nonnulls(%1$s) > 0 THEN
      json := concat_ws(',', json, %2$s);
    END IF;$group$, "values", group_members), '' ORDER BY number),
    string_agg(format($group$
    IF (%1$s) IS DISTINCT FROM (%2$s) THEN%3$s
    END IF;$group$, replace(columns, 'side.', 'OLD.'), replace(columns, 'side.', 'NEW.'), group_changes), '' ORDER BY number)
    INTO members, changes
  FROM (
    SELECT number, string_agg(column_name, ', ' ORDER BY attnum) AS columns, string_agg(value, ', ' ORDER BY attnum) AS "values",
      string_agg(format('%L || ' || template, label, value), ', ' ORDER BY attnum) AS group_members,
      string_agg(format($change$
      IF %1$s IS DISTINCT FROM %2$s THEN
        before := concat_ws(',', before, %3$L || coalesce(%4$s, 'null'));
        after := concat_ws(',', after, %3$L || coalesce(%5$s, 'null'));
      END IF;$change$, replace(value, 'side.', 'OLD.'), replace(value, 'side.', 'NEW.'), label,
        format(template, replace(column_name, 'side.', 'OLD.')), format(template, replace(column_name, 'side.', 'NEW.'))), '' ORDER BY attnum) AS group_changes
    FROM (
      -- An empty array counts as null.
      SELECT attnum, attnum / 8 AS number, to_json(attname) || ':' AS label, format('side.%I', attname) AS column_name,
        format(CASE WHEN atttypid = 'text[]'::regtype THEN 'nullif(side.%I, ''{}'')' ELSE 'side.%I' END, attname) AS value,
        CASE atttypid
          WHEN 'numeric'::regtype THEN 'to_json(trim_scale(%s))::text'
          WHEN 'timestamptz'::regtype THEN '''"'' || to_char(%s AT TIME ZONE ''UTC'', ''YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'') || ''"'''
          WHEN 'date'::regtype THEN '''"'' || to_char(%s, ''YYYY-MM-DD'') || ''"'''
          ELSE 'to_json(%s)::text' END AS template
      FROM pg_attribute
      WHERE attrelid = quote_ident(resource)::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''
        AND attname NOT IN ('RecordVersion', 'LastEventSequence', 'ModificationTimestamp', 'Document', 'GeoLocation', 'ChangedByMemberKey')
        AND atttypid <> 'tsvector'::regtype
    ) columns GROUP BY number
  ) groups;
  changed_by := CASE WHEN EXISTS (SELECT FROM pg_attribute WHERE attrelid = quote_ident(resource)::regclass AND attname = 'ChangedByMemberKey' AND NOT attisdropped)
    THEN 'CASE WHEN NEW."ChangedByMemberKey" IS DISTINCT FROM OLD."ChangedByMemberKey" OR coalesce(current_setting(''listing.writer'', true), '''') <> '''' THEN NEW."ChangedByMemberKey" END'
    ELSE 'NULL' END;
  EXECUTE format($function$
CREATE OR REPLACE FUNCTION "admin".%1$I() RETURNS trigger LANGUAGE plpgsql AS $body$
DECLARE
  json text;
  before text;
  after text;
BEGIN
  IF is_import() THEN
    RETURN NULL;
  END IF;
  IF TG_OP = 'INSERT' THEN%2$s
    after := json;
  ELSIF TG_OP = 'DELETE' THEN%3$s
    before := json;
  ELSE%4$s
    -- A change of who can see a listing touches its children, which changes no value of theirs.
    IF after IS NULL AND is_touch() THEN
      RETURN NULL;
    END IF;
  END IF;
  IF "admin".write_audit_entry(CASE TG_OP WHEN 'INSERT' THEN %5$L WHEN 'UPDATE' THEN %6$L ELSE %7$L END, %8$L, coalesce(NEW.%9$I, OLD.%9$I), %10$s,
    CASE WHEN TG_OP <> 'INSERT' THEN concat('{', before, '}') END, CASE WHEN TG_OP <> 'DELETE' THEN concat('{', after, '}') END) IS NULL THEN
    RETURN NULL;
  END IF;
  RETURN NULL;
END
$body$ $function$, name, replace(members, 'side.', 'NEW.'), replace(members, 'side.', 'OLD.'), changes,
    lower(resource) || '.create', lower(resource) || '.update', lower(resource) || '.delete', resource, key, changed_by);
  EXECUTE format('DROP TRIGGER IF EXISTS audit_change ON %I', resource);
  EXECUTE format('CREATE TRIGGER audit_change AFTER INSERT OR UPDATE OR DELETE ON %I FOR EACH ROW EXECUTE FUNCTION "admin".%I()', resource, name);
END
$outer$;

DO $$
DECLARE
  resource text;
  key text;
BEGIN
  FOR resource, key IN VALUES ('Property', 'ListingKey'), ('Member', 'MemberKey'), ('Office', 'OfficeKey'), ('Media', 'MediaKey'), ('Rooms', 'RoomKey'), ('OpenHouse', 'OpenHouseKey'), ('Lookup', 'LookupKey') LOOP
    PERFORM "admin".create_audit_trigger(resource, key);
  END LOOP;
END
$$;
