/**
 * Watches the rows of runs, workers and ingestion in PostgreSQL, at each change by a statement. It
 * records every forbidden state in `virtual.wrong`, with the transaction that caused it.
 */
export const observer = `
  CREATE TABLE virtual.wrong (what text NOT NULL);
  /** Attempts that began after their run was no longer wanted. */
  CREATE TABLE virtual.unwanted (run_id uuid, attempt int);
  CREATE TABLE virtual.owners (worker_id uuid PRIMARY KEY, name text, heard_at timestamptz);

  CREATE FUNCTION virtual.see_run() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE
      name text := current_setting('application_name');
      is_over bool := OLD.status NOT IN ('Starting', 'Running');
      ends bool := NOT is_over AND NEW.status NOT IN ('Starting', 'Running');
      owner virtual.owners;
    BEGIN
      SELECT * INTO owner FROM virtual.owners WHERE worker_id = OLD.worker_id;
      INSERT INTO virtual.wrong SELECT what FROM (VALUES
        ('a run ended twice', is_over AND (NEW.status, NEW.finished_at) IS DISTINCT FROM
          (OLD.status, OLD.finished_at)),
        ('an ended run was claimed', is_over AND NEW.attempt <> OLD.attempt),
        ('a run was taken from its worker', OLD.worker_id <> NEW.worker_id),
        ('a claim did not raise the attempt', NEW.worker_id IS NOT NULL
          AND NEW.worker_id IS DISTINCT FROM OLD.worker_id AND NEW.attempt <= OLD.attempt),
        ('a run completed without the mark of a commit',
          ends AND NEW.status = 'Completed' AND NEW.committing_at IS NULL),
        ('a commit began after a cancel', OLD.committing_at IS NULL
          AND NEW.committing_at IS NOT NULL AND OLD.cancel_requested_at IS NOT NULL),
        ('a person cancelled a commit', OLD.committing_at IS NOT NULL AND OLD.backfill_id IS NULL
          AND OLD.cancel_requested_at IS NULL AND NEW.cancel_requested_at IS NOT NULL),
        ('a run ended without its time or reason', ends AND (NEW.finished_at IS NULL
          OR (NEW.status <> 'Completed' AND NEW.latest_error IS NULL))),
        ('a failed attempt kept its worker',
          NEW.failures > OLD.failures AND NEW.worker_id IS NOT NULL),
        ('a failed attempt is never repeated', NEW.due_at > now() + interval '1 day'),
        ('a worker changed what another one has', name IN ('A', 'B') AND owner.name <> name
          AND (NEW.status, NEW.committing_at, NEW.receipt, NEW.records_completed) IS DISTINCT FROM
            (OLD.status, OLD.committing_at, OLD.receipt, OLD.records_completed)),
        ('a cancelled run was written', NEW.records_total_count IS DISTINCT FROM
          OLD.records_total_count AND EXISTS (SELECT 1 FROM virtual.unwanted
            WHERE run_id = NEW.id AND attempt = NEW.attempt)),
        ('a worker that lives lost its run', NOT ends AND name IN ('A', 'B')
          AND owner.name <> name AND NEW.worker_id IS NULL
          AND owner.heard_at > virtual.clock_timestamp() - interval '7 s')
      ) AS seen (what, is_so) WHERE is_so;
      INSERT INTO virtual.unwanted SELECT NEW.id, NEW.attempt WHERE NEW.attempt > OLD.attempt
        AND NEW.committing_at IS NULL AND (NEW.cancel_requested_at IS NOT NULL
          OR NEW.revision <> (SELECT revision FROM batch_exports WHERE id = NEW.batch_export_id));
      INSERT INTO virtual.owners SELECT NEW.worker_id, name, virtual.clock_timestamp()
        WHERE NEW.worker_id IS NOT NULL ON CONFLICT DO NOTHING;
      RETURN NULL;
    END $$;
  CREATE TRIGGER seen AFTER UPDATE ON batch_export_runs
    FOR EACH ROW EXECUTE FUNCTION virtual.see_run();

  CREATE FUNCTION virtual.see_plan() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO virtual.wrong SELECT what FROM (VALUES
        ('a run was planned over rows that are not final', EXISTS (
          SELECT 1 FROM jsonb_array_elements(NEW.selection) area WHERE extract(epoch FROM coalesce(
            (SELECT settled_until FROM ingestion_states WHERE team_id = NEW.team_id), '-infinity'))
              * 1000 < coalesce((area ->> 'inserted_to')::float8, 'infinity'))),
        ('a backfill continued under another revision',
          current_setting('application_name') IN ('A', 'B') AND NEW.revision <>
          (SELECT revision FROM batch_export_backfills WHERE id = NEW.backfill_id)),
        ('an older revision is made up for', NEW.is_make_up AND NEW.revision <>
          (SELECT revision FROM batch_exports WHERE id = NEW.batch_export_id)),
        ('the schedule did not wait', NEW.backfill_id IS NULL AND NOT NEW.is_make_up
          AND NEW.data_interval_end > virtual.clock_timestamp()),
        ('the schedule planned a paused export', NEW.backfill_id IS NULL AND NOT NEW.is_make_up
          AND NEW.delivery_id = NEW.id AND NOT EXISTS (SELECT 1 FROM batch_export_runs earlier
            WHERE earlier.batch_export_id = NEW.batch_export_id AND earlier.id < NEW.id
            AND earlier.data_interval_end >= NEW.data_interval_end)
          AND (SELECT paused FROM batch_exports WHERE id = NEW.batch_export_id))
      ) AS seen (what, is_so) WHERE is_so;
      RETURN NULL;
    END $$;
  CREATE TRIGGER planned AFTER INSERT ON batch_export_runs
    FOR EACH ROW EXECUTE FUNCTION virtual.see_plan();

  CREATE FUNCTION virtual.see_backfill() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO virtual.wrong SELECT 'a backfill ended before its runs'
        WHERE OLD.finished_at IS NULL AND NEW.status IN ('Completed', 'Failed') AND EXISTS (
          SELECT 1 FROM batch_export_runs
          WHERE backfill_id = NEW.id AND status IN ('Starting', 'Running'));
      RETURN NULL;
    END $$;
  CREATE TRIGGER seen AFTER UPDATE ON batch_export_backfills
    FOR EACH ROW EXECUTE FUNCTION virtual.see_backfill();

  CREATE FUNCTION virtual.see_worker() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO virtual.wrong SELECT 'a worker was forgotten before its runs'
        WHERE TG_OP = 'DELETE' AND EXISTS (SELECT 1 FROM batch_export_runs
          WHERE worker_id = OLD.id AND status IN ('Starting', 'Running'));
      INSERT INTO virtual.owners SELECT NEW.id, current_setting('application_name'),
        virtual.clock_timestamp() WHERE TG_OP <> 'DELETE'
        ON CONFLICT (worker_id) DO UPDATE SET heard_at = excluded.heard_at;
      RETURN NULL;
    END $$;
  CREATE TRIGGER seen AFTER INSERT OR UPDATE OR DELETE ON workers
    FOR EACH ROW EXECUTE FUNCTION virtual.see_worker();

  CREATE FUNCTION virtual.see_promise() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO virtual.wrong SELECT 'more was promised final than can be'
        WHERE NEW.settled_until > CASE WHEN NEW.batch_id IS NULL THEN virtual.clock_timestamp()
          ELSE greatest(NEW.last_inserted_at, OLD.settled_until) END;
      RETURN NULL;
    END $$;
  CREATE TRIGGER seen AFTER INSERT OR UPDATE ON ingestion_states
    FOR EACH ROW EXECUTE FUNCTION virtual.see_promise();`;
