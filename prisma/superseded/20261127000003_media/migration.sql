-- Media name their parent by resource and key; the hidden keys hold it as a real reference, if the parent is there.
CREATE FUNCTION attach_media() RETURNS trigger LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
BEGIN
  NEW."PropertyKey" := NULL;
  NEW."MemberKey" := NULL;
  NEW."OfficeKey" := NULL;
  IF NEW."ResourceName" = 'Property' THEN
    SELECT "ListingKey" INTO NEW."PropertyKey" FROM "Property" WHERE "ListingKey" = NEW."ResourceRecordKey";
  ELSIF NEW."ResourceName" = 'Member' THEN
    SELECT "MemberKey" INTO NEW."MemberKey" FROM "Member" WHERE "MemberKey" = NEW."ResourceRecordKey";
  ELSIF NEW."ResourceName" = 'Office' THEN
    SELECT "OfficeKey" INTO NEW."OfficeKey" FROM "Office" WHERE "OfficeKey" = NEW."ResourceRecordKey";
  END IF;
  RETURN NEW;
END
$$;
CREATE TRIGGER attach_media BEFORE INSERT OR UPDATE OF "ResourceName", "ResourceRecordKey" ON "Media" FOR EACH ROW EXECUTE FUNCTION attach_media();

-- A parent that comes after its media takes them over: naming the column again makes attach_media look once more.

CREATE FUNCTION adopt_media_of_property() RETURNS trigger LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
BEGIN
  UPDATE "Media" m SET "ResourceRecordKey" = m."ResourceRecordKey" FROM adopter a
  WHERE m."ResourceRecordKey" = a."ListingKey" AND m."ResourceName" = 'Property' AND m."PropertyKey" IS NULL;
  RETURN NULL;
END
$$;
CREATE TRIGGER adopt_media AFTER INSERT ON "Property" REFERENCING NEW TABLE AS adopter FOR EACH STATEMENT EXECUTE FUNCTION adopt_media_of_property();

CREATE FUNCTION adopt_media_of_member() RETURNS trigger LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
BEGIN
  UPDATE "Media" m SET "ResourceRecordKey" = m."ResourceRecordKey" FROM adopter a
  WHERE m."ResourceRecordKey" = a."MemberKey" AND m."ResourceName" = 'Member' AND m."MemberKey" IS NULL;
  RETURN NULL;
END
$$;
CREATE TRIGGER adopt_media AFTER INSERT ON "Member" REFERENCING NEW TABLE AS adopter FOR EACH STATEMENT EXECUTE FUNCTION adopt_media_of_member();

CREATE FUNCTION adopt_media_of_office() RETURNS trigger LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
BEGIN
  UPDATE "Media" m SET "ResourceRecordKey" = m."ResourceRecordKey" FROM adopter a
  WHERE m."ResourceRecordKey" = a."OfficeKey" AND m."ResourceName" = 'Office' AND m."OfficeKey" IS NULL;
  RETURN NULL;
END
$$;
CREATE TRIGGER adopt_media AFTER INSERT ON "Office" REFERENCING NEW TABLE AS adopter FOR EACH STATEMENT EXECUTE FUNCTION adopt_media_of_office();

-- The listing counts its photos and knows when they changed. An import brings these fields with it.
CREATE FUNCTION count_photos() RETURNS trigger LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
BEGIN
  IF NOT is_import() THEN
    UPDATE "Property" p SET
      "PhotosCount" = (SELECT count(*) FROM "Media" m WHERE m."PropertyKey" = p."ListingKey" AND m."MediaCategory" = 'Photo'),
      "PhotosChangeTimestamp" = date_trunc('milliseconds', clock_timestamp()),
      "MediaChangeTimestamp" = date_trunc('milliseconds', clock_timestamp())
    WHERE p."ListingKey" IN (SELECT "PropertyKey" FROM changed);
  END IF;
  RETURN NULL;
END
$$;
CREATE TRIGGER photos_insert AFTER INSERT ON "Media" REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION count_photos();
CREATE TRIGGER photos_update AFTER UPDATE ON "Media" REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION count_photos();
CREATE TRIGGER photos_delete AFTER DELETE ON "Media" REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION count_photos();
