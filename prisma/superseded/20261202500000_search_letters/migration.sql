-- $search compares letters in any form and case: composed and decomposed ones are equal (NFC), and a word without accents finds words with them.

-- The words of a text. Those with accents stand there without them too, at the same places, so that phrases match. Most texts are ASCII and need none of this.
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

CREATE OR REPLACE FUNCTION keep_search_text() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  SELECT search_words(concat_ws(E'\n', p."PublicRemarks", p."City", p."CityRegion", p."SubdivisionName", p."CountyOrParish", p."PostalCode", p."MLSAreaMajor",
    p."PropertyType", p."PropertySubType", p."ListingId", p."ListAgentFullName", p."ListOfficeName", p."ElementarySchool", p."MiddleOrJuniorSchool", p."HighSchool",
    p."HighSchoolDistrict")) INTO NEW."SearchText" FROM "Property" p WHERE p."ListingKey" = NEW."ListingKey";
  RETURN NEW;
END
$$;

-- Of listings that are there only those with other letters than ASCII are indexed again.
UPDATE "PropertyText" t SET "SearchText" = NULL FROM "Property" p WHERE p."ListingKey" = t."ListingKey" AND
  concat_ws('', p."PublicRemarks", p."City", p."CityRegion", p."SubdivisionName", p."CountyOrParish", p."PostalCode", p."MLSAreaMajor", p."PropertyType", p."PropertySubType",
    p."ListingId", p."ListAgentFullName", p."ListOfficeName", p."ElementarySchool", p."MiddleOrJuniorSchool", p."HighSchool", p."HighSchoolDistrict") ~ '[^\x01-\x7F]';

-- Inside the first ring or on it, and not strictly inside another one. A closed path holds what is inside it, so holes left nothing out; an open one is the border alone.
CREATE OR REPLACE FUNCTION geo_inside(place point, rings polygon[]) RETURNS boolean LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT place <@ rings[1] AND NOT EXISTS (SELECT FROM unnest(rings[2:]) hole WHERE place <@ hole AND NOT place <@ popen(path(hole)));
$$;
