-- Comparisons of what an export has delivered with what its destination has now. They are worked on
-- by workers, a part at a time, and found again after a kill. Their findings stay, so that an
-- export can say up to when everything was found as delivered.

CREATE TABLE batch_export_verifications (
  id uuid PRIMARY KEY,
  batch_export_id uuid NOT NULL REFERENCES batch_exports ON DELETE CASCADE,
  revision integer NOT NULL,
  -- the data intervals that are looked at; null: no bound
  start_at timestamptz,
  end_at timestamptz,
  status text NOT NULL DEFAULT 'Starting'
    CHECK (status IN ('Starting', 'Running', 'Completed', 'Failed', 'Cancelled')),
  -- why it waits or ended early, as a sentence
  detail text,
  -- deliveries and their rows, as they were counted when the first part began
  deliveries integer,
  records bigint,
  deliveries_checked integer NOT NULL DEFAULT 0,
  records_checked bigint NOT NULL DEFAULT 0,
  -- rows of the part in hand; a kill takes them back
  records_in_part bigint NOT NULL DEFAULT 0,
  -- {data_interval_start, delivery_id} of the last delivery that was compared
  position jsonb,
  -- differences that were found, also those beyond what is kept
  differences integer NOT NULL DEFAULT 0,
  -- comparisons that were not row by row, as sentences
  notes jsonb NOT NULL DEFAULT '[]',
  is_unproven boolean NOT NULL DEFAULT false,
  -- the earliest insertion, in milliseconds, of the deliveries that differ
  doubtful_from double precision,
  -- everything ingested before it was found as delivered; null: nothing was
  verified_through timestamptz,
  -- the process that works on it, and when it was heard of last
  claim_id uuid,
  claimed_at timestamptz,
  -- attempts at the part in hand
  tries integer NOT NULL DEFAULT 0,
  due_at timestamptz NOT NULL DEFAULT now(),
  created_at timestamptz NOT NULL DEFAULT now(),
  started_at timestamptz,
  finished_at timestamptz,
  last_updated_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX batch_export_verifications_by_export
  ON batch_export_verifications (batch_export_id, created_at DESC, id DESC);
-- one at a time for each export, and what workers look for
CREATE UNIQUE INDEX batch_export_verifications_open ON batch_export_verifications (batch_export_id)
  WHERE finished_at IS NULL;

CREATE TABLE batch_export_findings (
  verification_id uuid NOT NULL REFERENCES batch_export_verifications ON DELETE CASCADE,
  number integer NOT NULL,
  kind text NOT NULL CHECK (kind IN
    ('missing', 'doubled', 'changed', 'foreign', 'receipt', 'unreadable', 'uncertain')),
  -- the row, file or receipt as people know it
  name text NOT NULL,
  detail text NOT NULL,
  -- the differing column, and its value as delivered and as found, clipped
  "column" text,
  expected text,
  found text,
  -- the delivery that differs, as far as it is known, and the range that delivers it again
  delivery_id uuid,
  run_id uuid,
  data_interval_start timestamptz,
  data_interval_end timestamptz,
  selects_by text,
  -- what was started to repair it
  repair_run_id uuid,
  repair_backfill_id uuid,
  PRIMARY KEY (verification_id, number)
);
