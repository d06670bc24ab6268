-- Limits of clients, shared by all processes. docs/partners.md describes them.

-- The processes that take from quotas. Each writes its row every two seconds while clients with limits use it.
CREATE TABLE "admin"."LimitProcess" (
  "ProcessId" TEXT COLLATE "C" NOT NULL CONSTRAINT "LimitProcess_pkey" PRIMARY KEY,
  "LastSeenTimestamp" TIMESTAMPTZ(3) NOT NULL
);

-- Records that a process is alive, and returns the number of processes.
CREATE FUNCTION "admin"."count_limit_processes"(process_id text) RETURNS integer LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM "admin"."LimitProcess" WHERE "LastSeenTimestamp" < clock_timestamp() - interval '1 hour';
  INSERT INTO "admin"."LimitProcess" AS stored ("ProcessId", "LastSeenTimestamp") VALUES (process_id, clock_timestamp())
  ON CONFLICT ("ProcessId") DO UPDATE SET "LastSeenTimestamp" = excluded."LastSeenTimestamp"
  WHERE stored."LastSeenTimestamp" < excluded."LastSeenTimestamp" - interval '1 s';
  RETURN (SELECT count(*) FROM "admin"."LimitProcess" WHERE "LastSeenTimestamp" > clock_timestamp() - interval '10 s');
END $$;

-- Takes portions of the quotas of a client, one for each of `kinds`, and returns them. The sum of all portions is never
-- more than the limit. Several processes take at the same time, so that a process gets no more than a part of what is left.
--   adjustments  what was used beyond earlier portions of the window `windows`; negative: what was not used
--   A process gets at most 1 / (2 * number of processes) of what is left, but 1 % of the limit, and at least 2 if so many are left.
-- A day is one of UTC. The minutes of clients begin at different seconds. The time is that of the database.
CREATE FUNCTION "admin"."take_quotas"(
  process_id text, subject text, kinds text[], limits bigint[], windows timestamptz[], adjustments bigint[], wanted bigint[]
) RETURNS TABLE (kind text, granted bigint, remaining bigint, window_start text, milliseconds_left double precision, processes integer)
LANGUAGE plpgsql AS $$
DECLARE
  moment timestamptz := clock_timestamp();
  process_count integer := "admin"."count_limit_processes"(process_id);
  minute_offset interval := make_interval(secs => abs(hashtext(subject)::bigint) % 60);
  period interval;
  started timestamptz;
  taken bigint;
BEGIN
  -- A crash of the server may lose the counts of the last second; no request waits for the disk.
  PERFORM set_config('synchronous_commit', 'off', true);
  FOR i IN 1 .. cardinality(kinds) LOOP
    kind := kinds[i];
    period := CASE kind WHEN 'minute' THEN interval '1 minute' ELSE interval '1 day' END;
    started := CASE kind
      WHEN 'minute' THEN date_bin(period, moment, timestamptz '2000-01-01 00:00:00+00' + minute_offset)
      ELSE date_bin(period, moment, timestamptz '2000-01-01 00:00:00+00')
    END;
    INSERT INTO "admin"."Quota" AS stored ("Subject", "Kind", "WindowStart", "Taken") VALUES (subject, kind, started, 0)
    ON CONFLICT ("Subject", "Kind") DO UPDATE SET "WindowStart" = excluded."WindowStart",
      "Taken" = CASE WHEN stored."WindowStart" = excluded."WindowStart" THEN stored."Taken" ELSE 0 END
    RETURNING "Taken" INTO taken;
    IF windows[i] = started THEN
      taken := greatest(0, taken + adjustments[i]);
    END IF;
    remaining := greatest(0, limits[i] - taken);
    granted := CASE
      WHEN process_count = 1 THEN least(wanted[i], remaining)
      ELSE least(wanted[i], remaining, greatest(2, limits[i] / 100, remaining / (2 * process_count)))
    END;
    remaining := remaining - granted;
    UPDATE "admin"."Quota" SET "Taken" = taken + granted WHERE "Subject" = subject AND "Kind" = kinds[i];
    window_start := started::text;
    milliseconds_left := extract(epoch FROM started + period - moment) * 1000;
    processes := process_count;
    RETURN NEXT;
  END LOOP;
END $$;
