-- Every statement that writes takes the lock of the change log before it locks a row. Until now a statement locked its first
-- row, then the log; beside a transaction that held the log and came to that row, both waited for each other (deadlock).
-- Row locks are taken before BEFORE ROW triggers run, so the lock has to come in a BEFORE STATEMENT trigger.
CREATE FUNCTION lock_change_log_first() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF lock_change_log() IS NULL THEN
    RETURN NULL;
  END IF;
  RETURN NULL;
END
$$;

CREATE TRIGGER lock_change_log_first BEFORE INSERT OR UPDATE OR DELETE ON "Property" FOR EACH STATEMENT EXECUTE FUNCTION lock_change_log_first();
CREATE TRIGGER lock_change_log_first BEFORE INSERT OR UPDATE OR DELETE ON "Member" FOR EACH STATEMENT EXECUTE FUNCTION lock_change_log_first();
CREATE TRIGGER lock_change_log_first BEFORE INSERT OR UPDATE OR DELETE ON "Office" FOR EACH STATEMENT EXECUTE FUNCTION lock_change_log_first();
CREATE TRIGGER lock_change_log_first BEFORE INSERT OR UPDATE OR DELETE ON "Media" FOR EACH STATEMENT EXECUTE FUNCTION lock_change_log_first();
CREATE TRIGGER lock_change_log_first BEFORE INSERT OR UPDATE OR DELETE ON "Rooms" FOR EACH STATEMENT EXECUTE FUNCTION lock_change_log_first();
CREATE TRIGGER lock_change_log_first BEFORE INSERT OR UPDATE OR DELETE ON "OpenHouse" FOR EACH STATEMENT EXECUTE FUNCTION lock_change_log_first();
CREATE TRIGGER lock_change_log_first BEFORE INSERT OR UPDATE OR DELETE ON "Lookup" FOR EACH STATEMENT EXECUTE FUNCTION lock_change_log_first();
