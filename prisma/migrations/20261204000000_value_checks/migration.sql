-- Values that clients cannot read are refused, whoever writes them: NaN and infinite numbers, and dates and timestamps outside of the years 0001 to 9999 in UTC.

-- Brings the constraints of tables up to date. A table has one constraint for all columns of a type, because PostgreSQL prepares each constraint again for each statement.
-- Stored values that a new constraint would refuse are replaced by null first. The service calls this after its migrations, so a new column needs no statement of its own.
CREATE FUNCTION check_values(tables text[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  checked record;
  statement text;
BEGIN
  FOR checked IN
    SELECT c.oid::regclass AS "table", c.relname || '_' || k.suffix AS name, k.low, k.high, array_agg(a.attnum) AS numbers, array_agg(a.attname::text ORDER BY a.attnum) AS columns
    FROM (VALUES
      ('numeric'::regtype, 'numbers_are_finite', '> ''-Infinity''', '< ''Infinity'''),
      ('double precision', 'doubles_are_finite', '> ''-Infinity''', '< ''Infinity'''),
      ('date', 'dates_in_years_1_to_9999', '>= ''0001-01-01''', '<= ''9999-12-31'''),
      ('timestamptz', 'times_in_years_1_to_9999', '>= ''0001-01-01T00:00:00Z''', '<= ''9999-12-31T23:59:59.999999Z''')
    ) k (type, suffix, low, high)
    JOIN pg_attribute a ON a.atttypid = k.type AND a.attnum > 0 AND NOT a.attisdropped
    JOIN pg_class c ON c.oid = a.attrelid AND c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace AND c.relname = ANY (tables)
    GROUP BY c.oid, c.relname, k.suffix, k.low, k.high
    ORDER BY c.relname, k.suffix
  LOOP
    CONTINUE WHEN EXISTS (SELECT FROM pg_constraint WHERE conrelid = checked."table" AND conname = checked.name AND contype = 'c' AND convalidated
      AND conkey @> checked.numbers AND conkey <@ checked.numbers);
    -- least() and greatest() leave nulls out, and NaN is above Infinity.
    statement := (SELECT format('ALTER TABLE %1$s DROP CONSTRAINT IF EXISTS %2$I, ADD CONSTRAINT %2$I CHECK (least(%3$s) %4$s AND greatest(%3$s) %5$s)',
      checked."table", checked.name, string_agg(quote_ident(name), ', ' ORDER BY place), checked.low, checked.high) FROM unnest(checked.columns) WITH ORDINALITY c (name, place));
    -- The lock comes before the changes of rows, since a writer that waits for the lock of the change log already has a weaker one.
    EXECUTE format('LOCK TABLE %s', checked."table");
    BEGIN
      EXECUTE statement;
    EXCEPTION WHEN check_violation THEN
      PERFORM replace_bad_values(checked."table", checked.columns, checked.low, checked.high);
      EXECUTE statement;
    END;
  END LOOP;
END
$$;

-- Replaces the values of columns that are not within both bounds by null, or by the present time in a column that cannot be null. Each has a warning with its record, and each
-- change is an event of the change log, so that copies follow.
CREATE FUNCTION replace_bad_values("table" regclass, columns text[], low text, high text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  name text;
  replacement text;
  bad record;
  key CONSTANT text := (SELECT string_agg(format('r.%I', attname), ', ' ORDER BY attnum) FROM pg_index JOIN pg_attribute ON attrelid = indrelid AND attnum = ANY (indkey)
    WHERE indrelid = "table" AND indisprimary);
BEGIN
  FOREACH name IN ARRAY columns LOOP
    SELECT CASE WHEN attnotnull AND atttypid IN ('date'::regtype, 'timestamptz'::regtype) THEN 'clock_timestamp()' ELSE 'NULL' END INTO replacement
      FROM pg_attribute WHERE attrelid = "table" AND attname = name;
    FOR bad IN EXECUTE format('UPDATE %1$s r SET %2$I = %3$s FROM %1$s former WHERE former.ctid = r.ctid AND NOT (former.%2$I %4$s AND former.%2$I %5$s)
      RETURNING concat_ws('', '', %6$s) AS key, former.%2$I::text AS value', "table", name, replacement, low, high, key)
    LOOP
      RAISE WARNING '% ''%'': % was %, which clients cannot read, and is % now', trim('"' FROM "table"::text), bad.key, name, bad.value,
        CASE replacement WHEN 'NULL' THEN 'null' ELSE 'the present time' END;
    END LOOP;
  END LOOP;
END
$$;

SELECT check_values(ARRAY['Property', 'Member', 'Office', 'Media', 'Rooms', 'OpenHouse', 'Lookup', 'EntityEvent']);
