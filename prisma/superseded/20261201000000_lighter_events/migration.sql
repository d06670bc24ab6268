-- What a change costs beside its own row: small statements that functions run, each as dear as a look at an index. A condition is computed without one, PERFORM is a
-- statement; so of seven only the one that writes the event is left.

CREATE OR REPLACE FUNCTION lock_change_log() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF pg_advisory_xact_lock(4611686018427387904) IS NULL THEN
    RETURN;
  END IF;
END
$$;

-- The number of the next event. Whoever takes one holds the lock of the log until the end of the transaction, and subscribers are told then, once for all its events.
CREATE FUNCTION next_event() RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
  IF lock_change_log() IS NOT NULL AND pg_notify('entity_event', '') IS NOT NULL THEN
    RETURN nextval('entity_event_sequence');
  END IF;
END
$$;
DROP TRIGGER notify_change ON "EntityEvent";
DROP FUNCTION notify_change();

-- The clock takes the lock first, as ever. What is logged stands in the rows that changed: where there are none, no event takes a number.
DO $$
DECLARE
  name text;
BEGIN
  EXECUTE replace(pg_get_functiondef('next_change_time'::regproc), 'PERFORM lock_change_log();', 'IF lock_change_log() IS NULL THEN RETURN NULL; END IF;');
  FOREACH name IN ARRAY ARRAY['log_property', 'log_removal', 'log_member', 'log_office'] LOOP
    EXECUTE replace(replace(pg_get_functiondef(name::regproc), E'  IF NOT EXISTS (SELECT FROM changed) THEN\n    RETURN NULL;\n  END IF;\n  PERFORM lock_change_log();\n', ''),
      'nextval(''entity_event_sequence'')', 'next_event()');
  END LOOP;
  -- These read the listing too, as it is once nobody else writes: the lock stays a statement before.
  FOREACH name IN ARRAY ARRAY['log_media', 'log_rooms', 'log_openhouse'] LOOP
    EXECUTE replace(pg_get_functiondef(name::regproc), 'nextval(''entity_event_sequence'')', 'next_event()');
  END LOOP;
END
$$;
