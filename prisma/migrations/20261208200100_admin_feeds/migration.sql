-- What /admin shows of feeds.
CREATE VIEW "admin"."FeedResource" AS
SELECT "FeedName", "Filter" COLLATE "C" AS "Filter", "HiddenFields", coalesce("OnlyFields", '{}') AS "OnlyFields", "TopIsTotal", "PageSize", "PageSizeMax", "SoldPriceDelayDays",
  "ShowsMedia", "ShowsOpenHouses", "ShowsMembers",
  (SELECT count(*)::integer FROM "admin"."FeedListing" m WHERE m."FeedId" = f."FeedId" AND m."IsShown") AS "ListingCount",
  "CreationTimestamp", "ModificationTimestamp", "ComputedTimestamp", "Version" AS "RecordVersion"
FROM "admin"."Feed" f WHERE "RemovedTimestamp" IS NULL;

-- Who may write the change log may read the view: the migrations may be run by another role than the service.
DO $$
DECLARE
  grantee_name text;
BEGIN
  FOR grantee_name IN
    SELECT quote_ident(pg_get_userbyid(relowner)) FROM pg_class WHERE oid = '"EntityEvent"'::regclass AND relowner <> current_user::regrole
    UNION SELECT quote_ident(pg_get_userbyid(grantee)) FROM pg_class, aclexplode(relacl)
      WHERE oid = '"EntityEvent"'::regclass AND privilege_type = 'INSERT' AND grantee <> 0 AND grantee <> current_user::regrole
  LOOP
    EXECUTE 'GRANT SELECT ON "admin"."FeedResource" TO ' || grantee_name;
  END LOOP;
END
$$;
