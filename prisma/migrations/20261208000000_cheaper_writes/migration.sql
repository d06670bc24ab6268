-- Writes cost less. What the audit log and the change log contain is the same as before. docs/performance.md has the figures.
--
-- PostgreSQL prepares each expression of a function again for each transaction. A PATCH is a transaction, so an expression that is not evaluated saves more than its evaluation.

-- True if there are filters in feeds_of(). compile_feeds() replaces both. A constant is part of the plan of its caller, so that a market without feeds pays nothing. feeds_of() takes a
-- copy of the row, and so costs more than the rest of a trigger.
CREATE FUNCTION "admin".tracks_feeds() RETURNS boolean LANGUAGE sql IMMUTABLE AS $$ SELECT false $$;

CREATE OR REPLACE FUNCTION "admin".compile_feeds() RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
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
  EXECUTE format('CREATE OR REPLACE FUNCTION "admin".tracks_feeds() RETURNS boolean LANGUAGE sql IMMUTABLE AS %L', 'SELECT ' || (together IS NOT NULL));
END
$$;

-- The feeds that exist now.
DO $$ BEGIN PERFORM "admin".compile_feeds(); END $$;

CREATE OR REPLACE FUNCTION log_property() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  feeds integer[];
  former integer[];
  audiences text[] := listing_audiences(NEW."StandardStatus", NEW."InternetEntireListingDisplayYN", NEW."ListAgentKey", NEW."ListOfficeKey");
BEGIN
  IF "admin".tracks_feeds() THEN
    feeds := "admin".feeds_of(NEW);
  END IF;
  IF feeds IS NOT NULL THEN
    former := "admin".stored_feeds(NEW."ListingKey");
    audiences := audiences || "admin".feed_audiences(feeds, NEW."StandardStatus", NEW."InternetEntireListingDisplayYN", NEW."ListAgentKey", NEW."ListOfficeKey");
    IF TG_OP = 'INSERT' OR OLD."ListingKey" <> NEW."ListingKey" THEN
      PERFORM "admin".store_feeds(NEW."ListingKey", NEW."CloseDate", feeds, former);
    END IF;
  END IF;
  IF TG_OP = 'UPDATE' AND OLD."ListingKey" = NEW."ListingKey" AND (feeds IS NOT NULL
    OR (OLD."StandardStatus", OLD."InternetEntireListingDisplayYN", OLD."ListAgentKey", OLD."ListOfficeKey")
      IS DISTINCT FROM (NEW."StandardStatus", NEW."InternetEntireListingDisplayYN", NEW."ListAgentKey", NEW."ListOfficeKey")) THEN
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

CREATE OR REPLACE FUNCTION hide_children() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  feeds integer[];
BEGIN
  IF "admin".tracks_feeds() THEN
    feeds := "admin".feeds_of(NEW);
  END IF;
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

CREATE OR REPLACE FUNCTION show_children() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  feeds integer[];
  former integer[];
BEGIN
  IF "admin".tracks_feeds() THEN
    feeds := "admin".feeds_of(NEW);
  END IF;
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

-- The trigger of the audit log compares eight columns at a time, and makes JSON of the groups that differ.
CREATE OR REPLACE FUNCTION "admin".create_audit_trigger(resource text, key text) RETURNS void LANGUAGE plpgsql AS $outer$
DECLARE
  name text := 'audit_' || lower(resource);
  groups text;
  changed_by text;
BEGIN
  SELECT string_agg(format($group$
  IF (%1$s) IS DISTINCT FROM (%2$s) THEN
    IF TG_OP <> 'INSERT' THEN
      before := concat_ws(',', before, %3$s);
    END IF;
    IF TG_OP <> 'DELETE' THEN
      after := concat_ws(',', after, %4$s);
    END IF;
  END IF;$group$, old_values, new_values, replace(members, 'side.', 'OLD.'), replace(members, 'side.', 'NEW.')), '' ORDER BY number) INTO groups
  FROM (
    SELECT number, string_agg(format('OLD.%I', column_name), ', ' ORDER BY ordinal) AS old_values, string_agg(format('NEW.%I', column_name), ', ' ORDER BY ordinal) AS new_values,
      string_agg(format('CASE WHEN %1$s IS DISTINCT FROM %2$s THEN %3$L || coalesce(%4$s, ''null'') END', replace(compared, 'side.', 'OLD.'), replace(compared, 'side.', 'NEW.'),
        to_json(column_name) || ':', json), ', ' ORDER BY ordinal) AS members
    FROM (
      SELECT a.attname AS column_name, a.attnum AS ordinal, a.attnum / 8 AS number,
        format(CASE WHEN a.atttypid = 'text[]'::regtype THEN 'nullif(side.%I, ''{}'')' ELSE 'side.%I' END, a.attname) AS compared,
        format(CASE a.atttypid
          WHEN 'numeric'::regtype THEN 'to_json(trim_scale(side.%I))::text'
          WHEN 'timestamptz'::regtype THEN '''"'' || to_char(side.%I AT TIME ZONE ''UTC'', ''YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'') || ''"'''
          WHEN 'date'::regtype THEN '''"'' || to_char(side.%I, ''YYYY-MM-DD'') || ''"'''
          ELSE 'to_json(side.%I)::text' END, a.attname) AS json
      FROM pg_attribute a
      WHERE a.attrelid = quote_ident(resource)::regclass AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
        AND a.attname NOT IN ('RecordVersion', 'LastEventSequence', 'ModificationTimestamp', 'Document', 'GeoLocation', 'ChangedByMemberKey')
        AND a.atttypid <> 'tsvector'::regtype
    ) columns GROUP BY number
  ) parts;
  -- A program that writes by SQL and names no member leaves the last one in the record.
  changed_by := CASE WHEN EXISTS (SELECT FROM pg_attribute WHERE attrelid = quote_ident(resource)::regclass AND attname = 'ChangedByMemberKey' AND NOT attisdropped)
    THEN 'CASE WHEN NEW."ChangedByMemberKey" IS DISTINCT FROM OLD."ChangedByMemberKey" OR coalesce(current_setting(''listing.writer'', true), '''') <> '''' THEN NEW."ChangedByMemberKey" END'
    ELSE 'NULL' END;
  EXECUTE format($function$
CREATE OR REPLACE FUNCTION "admin".%1$I() RETURNS trigger LANGUAGE plpgsql AS $body$
DECLARE
  before text;
  after text;
BEGIN
  IF is_import() THEN
    RETURN NULL;
  END IF;%2$s
  -- A change of who can see a listing touches its children, which changes no value of theirs.
  IF TG_OP = 'UPDATE' AND after IS NULL AND is_touch() THEN
    RETURN NULL;
  END IF;
  IF "admin".write_audit_entry(CASE TG_OP WHEN 'INSERT' THEN %3$L WHEN 'UPDATE' THEN %4$L ELSE %5$L END, %6$L, coalesce(NEW.%7$I, OLD.%7$I), %8$s,
    CASE WHEN TG_OP <> 'INSERT' THEN concat('{', before, '}') END, CASE WHEN TG_OP <> 'DELETE' THEN concat('{', after, '}') END) IS NULL THEN
    RETURN NULL;
  END IF;
  RETURN NULL;
END
$body$ $function$, name, groups, lower(resource) || '.create', lower(resource) || '.update', lower(resource) || '.delete', resource, key, changed_by);
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
