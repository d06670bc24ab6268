-- Compaction keeps the last event of a record for each listing that the record belonged to. Before, the last event of all took over the audiences of the earlier ones: after
-- a photo moved from a public listing to a hidden one, the public got an event with the key of the hidden listing.
CREATE OR REPLACE FUNCTION compact_log(cutoff timestamptz, records int, INOUT resource text, INOUT key text, OUT dropped bigint) LANGUAGE plpgsql AS $$
DECLARE
  logged record;
  folded record;
BEGIN
  dropped := 0;
  FOR logged IN
    SELECT "ResourceName" AS name, "ResourceRecordKey" AS record, min("EntityEventSequence") < max("EntityEventSequence") AS has_several FROM "EntityEvent"
    WHERE ("ResourceName", "ResourceRecordKey") > (compact_log.resource, compact_log.key)
    GROUP BY 1, 2 ORDER BY 1, 2 LIMIT records
  LOOP
    resource := logged.name;
    key := logged.record;
    records := records - 1;
    CONTINUE WHEN NOT logged.has_several;
    FOR folded IN
      WITH gone AS (
        DELETE FROM "EntityEvent" e USING (
          SELECT "PropertyKey" AS listing, max("EntityEventSequence") AS sequence FROM "EntityEvent"
          WHERE "ResourceName" = logged.name AND "ResourceRecordKey" = logged.record GROUP BY 1
        ) last
        WHERE e."ResourceName" = logged.name AND e."ResourceRecordKey" = logged.record AND e."PropertyKey" IS NOT DISTINCT FROM last.listing
          AND e."EntityEventSequence" < last.sequence AND e."EventTimestamp" < cutoff
        RETURNING last.sequence, e."Audience" AS audience, e."EntityEventSequence" AS number
      ) SELECT sequence, array_agg(DISTINCT audience) AS audiences, count(DISTINCT number) AS events FROM gone GROUP BY sequence
    LOOP
      dropped := dropped + folded.events;
      PERFORM widen_event(folded.sequence, folded.audiences);
    END LOOP;
  END LOOP;
  IF records > 0 THEN
    resource := NULL;
  END IF;
END
$$;

-- Events that earlier compactions have left: a listing that the public could see has an event of its own for the public.
UPDATE "EntityEvent" e SET "PropertyKey" = NULL
WHERE "Audience" = 'public' AND "PropertyKey" IS NOT NULL AND "ResourceName" <> 'Property' AND NOT EXISTS (
  SELECT FROM "EntityEvent" p WHERE p."ResourceName" = 'Property' AND p."ResourceRecordKey" = e."PropertyKey" AND p."Audience" = 'public');
