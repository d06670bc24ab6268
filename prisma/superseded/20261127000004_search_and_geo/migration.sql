-- What the query language asks of PostgreSQL beyond its own functions.

-- The first collection gives the second by leaving items out, in any order (hassubset) or in its own (hassubsequence).
CREATE FUNCTION has_subset(items anyarray, subset anyarray) RETURNS boolean LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT NOT EXISTS (
    SELECT FROM unnest(subset) wanted GROUP BY wanted HAVING count(*) > (SELECT count(*) FROM unnest(items) item WHERE item IS NOT DISTINCT FROM wanted)
  );
$$;

CREATE FUNCTION has_subsequence(items anyarray, subsequence anyarray) RETURNS boolean LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
DECLARE
  found int := 0;
  i int;
BEGIN
  FOR i IN 1 .. cardinality(items) LOOP
    EXIT WHEN found = cardinality(subsequence);
    IF items[i] IS NOT DISTINCT FROM subsequence[found + 1] THEN
      found := found + 1;
    END IF;
  END LOOP;
  RETURN found = cardinality(subsequence);
END
$$;

-- Positions. Distances are metres on the sphere with the mean radius of the earth (IUGG: 6,371,008.8 m).
CREATE FUNCTION geo_point(place jsonb) RETURNS point LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT point((place -> 'coordinates' ->> 0)::double precision, (place -> 'coordinates' ->> 1)::double precision);
$$;

CREATE FUNCTION geo_distance(a point, b point) RETURNS double precision LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT 2 * 6371008.8 * asin(least(1, sqrt(
    power(sin(radians(b[1] - a[1]) / 2), 2) + cos(radians(a[1])) * cos(radians(b[1])) * power(sin(radians(b[0] - a[0]) / 2), 2))));
$$;

-- Inside the first ring or on it, and not strictly inside another one.
CREATE FUNCTION geo_inside(place point, rings polygon[]) RETURNS boolean LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT place <@ rings[1] AND NOT EXISTS (SELECT FROM unnest(rings[2:]) hole WHERE place <@ hole AND NOT place <@ path(hole));
$$;

CREATE INDEX "Property_position_idx" ON "Property" USING gist (geo_point("GeoLocation"));

-- The text that $search looks through: only what everyone may read, so neither address nor private remarks.
CREATE FUNCTION listing_text(VARIADIC texts text[]) RETURNS tsvector LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT to_tsvector('simple', array_to_string(texts, E'\n'));
$$;

ALTER TABLE "Property" ADD COLUMN "SearchText" tsvector GENERATED ALWAYS AS (listing_text("PublicRemarks", "City", "CityRegion", "SubdivisionName",
  "CountyOrParish", "PostalCode", "MLSAreaMajor", "PropertyType", "PropertySubType", "ListingId", "ListAgentFullName", "ListOfficeName",
  "ElementarySchool", "MiddleOrJuniorSchool", "HighSchool", "HighSchoolDistrict")) STORED;

CREATE INDEX "Property_SearchText_idx" ON "Property" USING gin ("SearchText");
