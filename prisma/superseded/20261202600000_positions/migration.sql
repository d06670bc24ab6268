-- Map boxes, distances and polygons go through an index on the two numbers of a position: PostgreSQL knows how many listings a box holds, and chooses
-- between the index and the order of the page. The index on points knew nothing of that, served no conditions on Latitude and Longitude, and cost a write twice as much.
CREATE INDEX "Property_Latitude_Longitude_StandardStatus_idx" ON "Property" ("Latitude" NULLS FIRST, "Longitude" NULLS FIRST, "StandardStatus" NULLS FIRST);
DROP INDEX "Property_position_idx";

-- In the order of a distance listings without a position come first.
CREATE INDEX "Property_without_position_idx" ON "Property" ("ListingKey") WHERE "GeoLocation" IS NULL;

-- The distance in meters on the sphere, as geo_distance(point, point) computes it. PostgreSQL inlines this form: least() and points kept it from that.
CREATE FUNCTION geo_distance(longitude_a double precision, latitude_a double precision, longitude_b double precision, latitude_b double precision)
RETURNS double precision LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT 2 * 6371008.8 * asin(float8smaller(1, sqrt(
    power(sin(radians(latitude_b - latitude_a) / 2), 2) + cos(radians(latitude_a)) * cos(radians(latitude_b)) * power(sin(radians(longitude_b - longitude_a) / 2), 2))));
$$;
ANALYZE "Property";
