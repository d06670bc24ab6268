-- The last event that everybody can see is the end of the log for the readers with the least rights. Events after it are not dropped, so that a reader that has reached its end, or
-- begins there, can always continue.
CREATE OR REPLACE FUNCTION prune_log(cutoff timestamptz, events int, INOUT sequence bigint, OUT dropped bigint) LANGUAGE plpgsql AS $$
DECLARE
  first CONSTANT bigint := sequence;
  log_end CONSTANT bigint := (SELECT max("EntityEventSequence") FROM "EntityEvent" WHERE "Audience" = 'public');
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
