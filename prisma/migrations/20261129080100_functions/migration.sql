-- Functions of the query language that PostgreSQL does not have.

-- Collections (OData 4.01 URL Conventions, 5.1.1.6). The second collection results from the first by leaving items out: in any order (hassubset),
-- or in the order of the first (hassubsequence).
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

-- Positions. A position is GeoJSON (RFC 7946, 3.1.2), and null if one of its numbers is missing.
CREATE FUNCTION geo_json(longitude numeric, latitude numeric) RETURNS jsonb LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT jsonb_build_object('type', 'Point', 'coordinates', jsonb_build_array(trim_scale(longitude), trim_scale(latitude)));
$$;

CREATE FUNCTION geo_point(place jsonb) RETURNS point LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT point((place -> 'coordinates' ->> 0)::double precision, (place -> 'coordinates' ->> 1)::double precision);
$$;

-- The distance in meters on the sphere, with the mean radius of the earth (IUGG: 6,371,008.8 m). PostgreSQL inlines the form with four numbers.
CREATE FUNCTION geo_distance(longitude_a double precision, latitude_a double precision, longitude_b double precision, latitude_b double precision)
RETURNS double precision LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT 2 * 6371008.8 * asin(float8smaller(1, sqrt(
    power(sin(radians(latitude_b - latitude_a) / 2), 2) + cos(radians(latitude_a)) * cos(radians(latitude_b)) * power(sin(radians(longitude_b - longitude_a) / 2), 2))));
$$;

CREATE FUNCTION geo_distance(a point, b point) RETURNS double precision LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT 2 * 6371008.8 * asin(least(1, sqrt(
    power(sin(radians(b[1] - a[1]) / 2), 2) + cos(radians(a[1])) * cos(radians(b[1])) * power(sin(radians(b[0] - a[0]) / 2), 2))));
$$;

-- True inside the first ring or on it, unless the position is strictly inside another ring, which is a hole.
CREATE FUNCTION geo_inside(place point, rings polygon[]) RETURNS boolean LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT place <@ rings[1] AND NOT EXISTS (SELECT FROM unnest(rings[2:]) hole WHERE place <@ hole AND NOT place <@ popen(path(hole)));
$$;

-- $search. Letters are equal in composed and decomposed form (NFC) and in any case.

-- The words of a text. A word with accents is also there without them at the same place, so that phrases match. Most texts are ASCII and skip this.
CREATE FUNCTION search_words(body text) RETURNS tsvector LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
  letters text;
  bare text;
BEGIN
  IF octet_length(body) = length(body) THEN
    RETURN to_tsvector('simple', body);
  END IF;
  letters := lower(normalize(body, NFC) COLLATE "und-x-icu");
  bare := normalize(regexp_replace(normalize(letters, NFD), E'[\u0300-\u036F]', '', 'g'), NFC);
  IF bare = letters THEN
    RETURN to_tsvector('simple', letters);
  END IF;
  RETURN (to_tsvector('simple', letters)::text || ' ' || to_tsvector('simple', bare)::text)::tsvector;
END
$$;

-- The words of a search, in this order.
CREATE FUNCTION search_phrase(words text) RETURNS tsquery LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT phraseto_tsquery('simple', lower(normalize(words, NFC) COLLATE "und-x-icu"));
$$;
