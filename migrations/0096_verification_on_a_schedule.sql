-- Verification on a schedule: looks at deliveries, the newest first, then round and round. What a
-- look found stays until it is found whole, is accepted, or left the ledger.

ALTER TABLE batch_export_verifications
  -- begun by the schedule: its cost is bounded, and a request of a person takes its place
  ADD COLUMN is_scheduled boolean NOT NULL DEFAULT false,
  -- deliveries whose contents were read; the others were told by their seals
  ADD COLUMN deliveries_read integer NOT NULL DEFAULT 0;

CREATE TABLE batch_export_watches (
  batch_export_id uuid PRIMARY KEY REFERENCES batch_exports ON DELETE CASCADE,
  revision integer NOT NULL,
  -- when the schedule decides about the next look
  due_at timestamptz NOT NULL DEFAULT now(),
  -- looks at all deliveries that ended
  cycles integer NOT NULL DEFAULT 0,
  cycle_started_at timestamptz,
  cycle_ended_at timestamptz,
  -- everything ingested before it was found as delivered; null: nothing was
  verified_through timestamptz,
  -- when the latest look ended that could compare everything
  verified_at timestamptz,
  is_verifiable boolean NOT NULL DEFAULT true,
  -- why it stands still, or why the destination cannot be asked, as a sentence
  reason text,
  -- looks in a row that could not ask the destination
  failures integer NOT NULL DEFAULT 0,
  -- processor time that looks may still use, in milliseconds, and up to when runs were counted
  balance_ms double precision NOT NULL DEFAULT 0,
  counted_at timestamptz
);
CREATE INDEX batch_export_watches_due ON batch_export_watches (due_at);

INSERT INTO batch_export_watches (batch_export_id, revision, verified_through, verified_at)
SELECT DISTINCT ON (v.batch_export_id) v.batch_export_id, v.revision, v.verified_through,
  v.finished_at
FROM batch_export_verifications v JOIN batch_exports e ON e.id = v.batch_export_id
  AND e.revision = v.revision AND e.deleted_at IS NULL
WHERE v.status = 'Completed' ORDER BY v.batch_export_id, v.created_at DESC, v.id DESC;

-- What a destination showed of a delivery without being read, when the delivery was seen last: as
-- long as it shows the same, nothing was changed.
CREATE TABLE batch_export_seals (
  batch_export_id uuid NOT NULL REFERENCES batch_exports ON DELETE CASCADE,
  delivery_id uuid NOT NULL,
  -- the run whose receipt counts
  run_id uuid NOT NULL,
  seal text NOT NULL,
  -- false: a difference was found then, which stays as long as the seal does
  is_whole boolean NOT NULL,
  seen_at timestamptz NOT NULL,
  -- when its contents were read; null: they were counted only
  read_at timestamptz,
  PRIMARY KEY (batch_export_id, delivery_id)
);

CREATE TABLE batch_export_deviations (
  id uuid PRIMARY KEY,
  batch_export_id uuid NOT NULL REFERENCES batch_exports ON DELETE CASCADE,
  revision integer NOT NULL,
  kind text NOT NULL CHECK (kind IN
    ('missing', 'doubled', 'changed', 'foreign', 'receipt', 'unreadable', 'uncertain')),
  -- the delivery that differs, as far as it is known, and the range that delivers it again
  delivery_id uuid,
  run_id uuid,
  data_interval_start timestamptz,
  data_interval_end timestamptz,
  selects_by text,
  -- rows or files that differ
  differences integer NOT NULL,
  -- the first of them, as people know it, and what is wrong
  name text NOT NULL,
  detail text NOT NULL,
  -- a hash of all of them: another one ends an acceptance
  mark text NOT NULL,
  -- the earliest insertion that it makes doubtful, in milliseconds; null: none
  doubtful_from double precision,
  first_seen_at timestamptz NOT NULL,
  last_seen_at timestamptz NOT NULL,
  resolved_at timestamptz,
  accepted_at timestamptz,
  -- the person as of then: the name stays when the account goes
  accepted_by text,
  accepted_reason text,
  repair_run_id uuid,
  repair_backfill_id uuid
);
CREATE UNIQUE INDEX batch_export_deviations_open ON batch_export_deviations
  (batch_export_id, kind, coalesce(delivery_id, batch_export_id)) WHERE resolved_at IS NULL;
CREATE INDEX batch_export_deviations_by_export
  ON batch_export_deviations (batch_export_id, first_seen_at DESC, id DESC);

-- Targets that took every event there was take the new one too.
UPDATE notice_targets SET events = events || '{differing}'::text[]
WHERE events @> '{failing,recovered,late,unusual_volume,rejecting,table_gone,schema_drift,
  table_unreadable,paused_automatically}' AND NOT events @> '{differing}';
