-- hide_leavers() locked the rows of FeedListing in the order of a scan and without the lock of the change log. A writer of several listings holds that lock and locks the same rows in an
-- order of its own, so each could wait for the other until PostgreSQL ended one of them. A listing that was written during the statement could also stay in the feed until its events.
-- Now the leavers are found without a lock. Then the function takes the lock of the change log, as every writer does before its first row, and holds it to the end of the transaction.
-- Under the lock it evaluates the filter only for the listings that were written meanwhile.
CREATE OR REPLACE FUNCTION "admin".hide_leavers(feed integer) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  log_end bigint;
  leavers text[];
BEGIN
  -- Both are read by one snapshot. Numbers become visible in their order, so a later write has a higher one.
  SELECT (SELECT coalesce(max("EntityEventSequence"), 0) FROM "EntityEvent"), ARRAY(
      SELECT m."ListingKey" FROM "admin"."FeedListing" m JOIN "Property" p USING ("ListingKey") WHERE m."FeedId" = feed AND m."IsShown" AND NOT feed = ANY ("admin".feeds_of(p)))
    INTO log_end, leavers;
  PERFORM lock_change_log();
  UPDATE "admin"."FeedListing" m SET "IsShown" = false
  WHERE m."FeedId" = feed AND m."ListingKey" = ANY (leavers) AND m."IsShown"
    AND NOT EXISTS (SELECT FROM "Property" p WHERE p."ListingKey" = m."ListingKey" AND p."LastEventSequence" > log_end);
  UPDATE "admin"."FeedListing" m SET "IsShown" = false FROM "Property" p
  WHERE p."LastEventSequence" > log_end AND m."FeedId" = feed AND m."ListingKey" = p."ListingKey" AND m."IsShown" AND NOT feed = ANY ("admin".feeds_of(p));
END
$$;
