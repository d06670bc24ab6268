-- The audit log of the market: each change of a record is an entry of admin."AuditEntry", in the transaction of the change. Triggers write it, so that it covers every
-- writer: the service, Studio and psql. An import writes one entry for each entity and transaction instead (src/data/import/audit-import.ts), since it would take twice the
-- time otherwise. docs/administration.md describes the entries.

-- Writes one entry. Who writes is what the service says of its request (listing.writer, for the transaction), else the user of the database.
CREATE FUNCTION "admin".write_audit_entry(action text, resource text, key text, changed_by text, before text, after text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  writer jsonb := nullif(current_setting('listing.writer', true), '')::jsonb;
BEGIN
  INSERT INTO "admin"."AuditEntry" ("Actor", "ClientId", "Subject", "ChangedByMemberKey", "Address", "Action", "ResourceName", "ResourceKey", "Before", "After")
  VALUES (
    coalesce(writer ->> 'actor', 'database user ' || session_user || coalesce(', application ' || nullif(current_setting('application_name'), ''), '')),
    writer ->> 'client', writer ->> 'subject', coalesce(changed_by, writer ->> 'member'),
    CASE WHEN writer IS NULL THEN host(inet_client_addr()) ELSE writer ->> 'address' END,
    action, resource, key, before::jsonb, after::jsonb);
END
$$;

-- Makes the trigger of a table. To be called again when the table gets a column: the function names each column, since comparing two columns costs a hundredth of what
-- comparing two records as JSON costs. Columns that follow from others are left out, and those that say when a record changed.
CREATE FUNCTION "admin".create_audit_trigger(resource text, key text) RETURNS void LANGUAGE plpgsql AS $outer$
DECLARE
  name text := 'audit_' || lower(resource);
  members text;
  changed_by text;
BEGIN
  -- concat_ws takes at most 100 arguments.
  SELECT 'concat_ws('','', ' || string_agg(part, ', ' ORDER BY number) || ')' INTO members FROM (
    SELECT number, 'nullif(concat_ws('','', ' || string_agg(
      format('CASE WHEN %1$s IS DISTINCT FROM %2$s THEN %3$L || coalesce(%4$s, ''null'') END', old_value, new_value, to_json(column_name) || ':', json), ', ' ORDER BY ordinal) || '), '''')' AS part
    FROM (
      SELECT a.attname AS column_name, a.attnum AS ordinal, a.attnum / 90 AS number,
        CASE WHEN a.atttypid = 'text[]'::regtype THEN format('nullif(OLD.%I, ''{}'')', a.attname) ELSE format('OLD.%I', a.attname) END AS old_value,
        CASE WHEN a.atttypid = 'text[]'::regtype THEN format('nullif(NEW.%I, ''{}'')', a.attname) ELSE format('NEW.%I', a.attname) END AS new_value,
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
  END IF;
  IF TG_OP <> 'INSERT' THEN
    before := %2$s;
  END IF;
  IF TG_OP <> 'DELETE' THEN
    after := %3$s;
  END IF;
  -- A change of who can see a listing touches its children, which changes no value of theirs.
  IF TG_OP = 'UPDATE' AND after = '' AND is_touch() THEN
    RETURN NULL;
  END IF;
  IF "admin".write_audit_entry(CASE TG_OP WHEN 'INSERT' THEN %4$L WHEN 'UPDATE' THEN %5$L ELSE %6$L END, %7$L, coalesce(NEW.%8$I, OLD.%8$I), %9$s,
    '{' || before || '}', '{' || after || '}') IS NULL THEN
    RETURN NULL;
  END IF;
  RETURN NULL;
END
$body$ $function$, name, replace(members, 'side.', 'OLD.'), replace(members, 'side.', 'NEW.'),
    lower(resource) || '.create', lower(resource) || '.update', lower(resource) || '.delete', resource, key, changed_by);
  EXECUTE format('DROP TRIGGER IF EXISTS audit_change ON %I', resource);
  EXECUTE format('CREATE TRIGGER audit_change AFTER INSERT OR UPDATE OR DELETE ON %I FOR EACH ROW EXECUTE FUNCTION "admin".%I()', resource, name);
END
$outer$;

-- TRUNCATE has one entry for each table, without values.
CREATE FUNCTION "admin".audit_truncate() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM "admin".write_audit_entry(lower(TG_TABLE_NAME) || '.truncate', TG_TABLE_NAME, '', NULL, NULL, NULL);
  RETURN NULL;
END
$$;

DO $$
DECLARE
  resource text;
  key text;
BEGIN
  FOR resource, key IN VALUES ('Property', 'ListingKey'), ('Member', 'MemberKey'), ('Office', 'OfficeKey'), ('Media', 'MediaKey'), ('Rooms', 'RoomKey'), ('OpenHouse', 'OpenHouseKey'), ('Lookup', 'LookupKey') LOOP
    PERFORM "admin".create_audit_trigger(resource, key);
    EXECUTE format('CREATE TRIGGER audit_truncate AFTER TRUNCATE ON %I FOR EACH STATEMENT EXECUTE FUNCTION "admin".audit_truncate()', resource);
  END LOOP;
END
$$;
