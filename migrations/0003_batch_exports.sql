-- Scheduled exports: what is wanted (batch_exports), what was planned and done (runs, slices), what has been delivered
-- (deliveries), ranges asked for by hand (backfills) and what a person can read about it (logs).

CREATE TABLE batch_exports (
  id uuid PRIMARY KEY,
  team_id integer NOT NULL REFERENCES projects ON DELETE CASCADE,
  name text NOT NULL,
  model text NOT NULL CHECK (model IN ('events', 'persons')),
  destination_type text NOT NULL,
  -- the keys of the config that may be shown
  destination_config jsonb,
  -- the secret keys of the config: AES-256-GCM envelope, see server/platform/secrets.ts
  destination_secrets bytea,
  "interval" text NOT NULL,
  -- the zone in which days and weeks turn, taken from the project when the export is made or its interval changes
  timezone text NOT NULL,
  paused boolean NOT NULL DEFAULT false,
  custom_query text,
  schema jsonb,
  start_at timestamptz,
  end_at timestamptz,
  last_paused_at timestamptz,
  created_by integer REFERENCES users ON DELETE SET NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  last_updated_at timestamptz NOT NULL DEFAULT now(),
  deleted_at timestamptz,
  -- a change of destination, model or query starts a new revision: an empty ledger
  revision integer NOT NULL DEFAULT 1,
  -- the next scheduled run covers insertions in [planned_until, next_run_at); null: nothing more is scheduled (end_at has passed)
  planned_until timestamptz NOT NULL,
  next_run_at timestamptz
);
CREATE INDEX batch_exports_by_project ON batch_exports (team_id, created_at DESC, id DESC) WHERE deleted_at IS NULL;
-- the planner's tick reads due exports from here, oldest first
CREATE INDEX batch_exports_due ON batch_exports (next_run_at) WHERE deleted_at IS NULL AND NOT paused AND next_run_at IS NOT NULL;

CREATE TABLE batch_export_backfills (
  id uuid PRIMARY KEY,
  batch_export_id uuid NOT NULL REFERENCES batch_exports ON DELETE CASCADE,
  revision integer NOT NULL,
  mode text NOT NULL CHECK (mode IN ('missing', 'all')),
  start_at timestamptz NOT NULL,
  end_at timestamptz NOT NULL,
  -- insertions below this instant belong to the backfill; later ones are left to the scheduled runs
  watermark timestamptz NOT NULL,
  -- start of the next data interval to plan; equal to end_at when all are planned
  next_start_at timestamptz NOT NULL,
  total_runs integer NOT NULL,
  status text NOT NULL DEFAULT 'Starting',
  created_at timestamptz NOT NULL DEFAULT now(),
  finished_at timestamptz,
  last_updated_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX batch_export_backfills_by_export ON batch_export_backfills (batch_export_id, created_at DESC);
CREATE INDEX batch_export_backfills_open ON batch_export_backfills (created_at) WHERE finished_at IS NULL;

CREATE TABLE batch_export_runs (
  id uuid PRIMARY KEY,
  batch_export_id uuid NOT NULL REFERENCES batch_exports ON DELETE CASCADE,
  revision integer NOT NULL,
  backfill_id uuid REFERENCES batch_export_backfills ON DELETE SET NULL,
  -- what the delivery is called at the destination: the id of the first run with this selection, kept by its retries
  delivery_id uuid NOT NULL,
  status text NOT NULL DEFAULT 'Starting' CHECK (status IN
    ('Starting', 'Running', 'Completed', 'Failed', 'FailedRetryable', 'Cancelled', 'TimedOut', 'Terminated', 'ContinuedAsNew')),
  data_interval_start timestamptz NOT NULL,
  data_interval_end timestamptz NOT NULL,
  -- disjoint rectangles of event time x insertion time, fixed when the run is planned; see server/engine/model/ledger.ts
  selection jsonb NOT NULL,
  records_completed bigint,
  records_total_count bigint,
  bytes_completed bigint NOT NULL DEFAULT 0,
  -- how many slices are done, as text; null before the first
  "cursor" text,
  -- counts the workers that took this run; a worker whose number is no longer this one has lost it
  attempt integer NOT NULL DEFAULT 0,
  -- failed attempts that counted against the limit; a killed worker does not count
  failures integer NOT NULL DEFAULT 0,
  cancel_requested_at timestamptz,
  -- set before the destination is told to show the delivery; from here on only a retry may touch the selection again
  committing_at timestamptz,
  latest_error text,
  error_code text,
  -- what the worker works with since it took the run, kept while the run is open: a change of the export's place must not move a
  -- delivery that has begun, and what it left there is cleaned up there
  model text,
  destination_type text,
  destination_config jsonb,
  destination_secrets bytea,
  -- the signed manifest, to the byte
  receipt text,
  created_at timestamptz NOT NULL DEFAULT now(),
  started_at timestamptz,
  finished_at timestamptz,
  last_updated_at timestamptz NOT NULL DEFAULT now()
);
-- one scheduled run per export, revision and interval, whoever plans it
CREATE UNIQUE INDEX batch_export_runs_scheduled_unique ON batch_export_runs (batch_export_id, revision, data_interval_end)
  WHERE backfill_id IS NULL AND id = delivery_id;
CREATE INDEX batch_export_runs_by_export ON batch_export_runs (batch_export_id, created_at DESC, id DESC);
CREATE INDEX batch_export_runs_by_interval ON batch_export_runs (batch_export_id, data_interval_start DESC, id DESC);
CREATE INDEX batch_export_runs_open ON batch_export_runs (last_updated_at) WHERE status IN ('Starting', 'Running');
CREATE INDEX batch_export_runs_by_backfill ON batch_export_runs (backfill_id) WHERE backfill_id IS NOT NULL;

-- The parts of a run, cut once by insertion time; a finished one carries what was written, so a crash repeats at most one.
CREATE TABLE batch_export_slices (
  run_id uuid NOT NULL REFERENCES batch_export_runs ON DELETE CASCADE,
  number integer NOT NULL,
  inserted_from timestamptz NOT NULL,
  inserted_to timestamptz NOT NULL,
  records bigint NOT NULL,
  -- what the sink says it wrote: names, rows, bytes, SHA-256; null until the slice is safe at the destination
  outcome jsonb,
  PRIMARY KEY (run_id, number)
);

-- The ledger of a revision: the union of all selections that were delivered, as merged disjoint rectangles.
CREATE TABLE batch_export_ledgers (
  batch_export_id uuid NOT NULL REFERENCES batch_exports ON DELETE CASCADE,
  revision integer NOT NULL,
  delivered jsonb NOT NULL DEFAULT '[]',
  updated_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (batch_export_id, revision)
);

CREATE TABLE batch_export_logs (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  batch_export_id uuid NOT NULL REFERENCES batch_exports ON DELETE CASCADE,
  run_id uuid REFERENCES batch_export_runs ON DELETE CASCADE,
  "timestamp" timestamptz NOT NULL DEFAULT clock_timestamp(),
  level text NOT NULL CHECK (level IN ('DEBUG', 'INFO', 'WARNING', 'ERROR')),
  message text NOT NULL
);
CREATE INDEX batch_export_logs_by_export ON batch_export_logs (batch_export_id, id DESC);
CREATE INDEX batch_export_logs_by_run ON batch_export_logs (run_id, id DESC) WHERE run_id IS NOT NULL;
