-- Delta links (docs/replication.md): an event knows whether it is a deletion, and the changes of one resource after a position come from one index for each audience.

-- True if the record was deleted, or got another key. Events from before this migration are false: delta tokens begin after them.
ALTER TABLE "EntityEvent" ADD COLUMN "Removed" BOOLEAN NOT NULL DEFAULT false;
CREATE INDEX "EntityEvent_ResourceName_Audience_EntityEventSequence_idx" ON "EntityEvent" ("ResourceName", "Audience", "EntityEventSequence");

CREATE FUNCTION write_removal(sequence bigint, at timestamptz, resource text, key text, listing text, audiences text[], changed_by text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO "EntityEvent" ("EntityEventSequence", "EventTimestamp", "ResourceName", "ResourceRecordKey", "ResourceRecordUrl", "Audience", "EarlierAudiences", "PropertyKey", "ChangedByMemberKey", "Removed")
  SELECT sequence, at, resource, key, record_url(resource, key), audience, audiences[:i - 1], listing, changed_by, true
  FROM unnest(coalesce(audiences, ARRAY['staff'])) WITH ORDINALITY each (audience, i);
END
$$;

-- The same functions as before, but for write_removal.
CREATE OR REPLACE FUNCTION log_property_removal() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM write_removal(next_event(), event_time(), 'Property', OLD."ListingKey", OLD."ListingKey",
    listing_audiences(OLD."StandardStatus", OLD."InternetEntireListingDisplayYN", OLD."ListAgentKey", OLD."ListOfficeKey"), NULL);
  RETURN CASE WHEN TG_OP = 'UPDATE' THEN NEW ELSE OLD END;
END
$$;

DO $$
DECLARE
  resource text;
  key text;
  listing text;
  audiences text;
BEGIN
  FOR resource, key, listing, audiences IN VALUES
    ('Member', 'MemberKey', 'NULL', 'ARRAY[''public'']'), ('Office', 'OfficeKey', 'NULL', 'ARRAY[''public'']'), ('Lookup', 'LookupKey', 'NULL', 'ARRAY[''public'']'),
    ('Media', 'MediaKey', 'OLD."PropertyKey"', 'media_audiences(OLD."ResourceName", OLD."PropertyKey")'),
    ('Rooms', 'RoomKey', 'OLD."ListingKey"', 'audiences_of_listing(OLD."ListingKey")'),
    ('OpenHouse', 'OpenHouseKey', 'OLD."ListingKey"', 'audiences_of_listing(OLD."ListingKey")')
  LOOP
    EXECUTE format($function$
CREATE OR REPLACE FUNCTION %1$I() RETURNS trigger LANGUAGE plpgsql AS $body$
BEGIN
  PERFORM write_removal(next_event(), event_time(), %2$L, OLD.%3$I, %4$s, %5$s, NULL);
  RETURN CASE WHEN TG_OP = 'UPDATE' THEN NEW ELSE OLD END;
END
$body$ $function$, 'log_' || lower(resource) || '_removal', resource, key, listing, audiences);
  END LOOP;
END
$$;

CREATE OR REPLACE FUNCTION widen_event(sequence bigint, further text[]) RETURNS void LANGUAGE plpgsql AS $$
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
  IF event."Removed" THEN
    PERFORM write_removal(sequence, event."EventTimestamp", event."ResourceName", event."ResourceRecordKey", event."PropertyKey", audiences, event."ChangedByMemberKey");
  ELSE
    PERFORM write_event(sequence, event."EventTimestamp", event."ResourceName", event."ResourceRecordKey", event."PropertyKey", audiences, event."ChangedByMemberKey");
  END IF;
END
$$;

-- A moved entry of Rooms or OpenHouse is a change of both of its listings, as moved media are: the event of the entry names neither.
CREATE FUNCTION touch_listings() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM set_config('listing.touch', 'on', true);
  UPDATE "Property" SET "LastEventSequence" = 0 WHERE "ListingKey" IN (OLD."ListingKey", NEW."ListingKey");
  PERFORM set_config('listing.touch', '', true);
  RETURN NULL;
END
$$;
CREATE TRIGGER touch_listings AFTER UPDATE OF "ListingKey" ON "Rooms" FOR EACH ROW WHEN (OLD."ListingKey" <> NEW."ListingKey") EXECUTE FUNCTION touch_listings();
CREATE TRIGGER touch_listings AFTER UPDATE OF "ListingKey" ON "OpenHouse" FOR EACH ROW WHEN (OLD."ListingKey" <> NEW."ListingKey") EXECUTE FUNCTION touch_listings();
