-- Whoever waits for changes is told that there are some; what they are stands in the log. It costs a writer nothing to wait for: notices make
-- transactions commit one after the other, and the lock of the change log does that already. Of one transaction there is one notice, since all are equal.
CREATE FUNCTION notify_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('entity_event', '');
  RETURN NULL;
END
$$;

CREATE TRIGGER notify_change AFTER INSERT ON "EntityEvent" FOR EACH STATEMENT EXECUTE FUNCTION notify_change();
