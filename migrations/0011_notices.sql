-- Exports that look after themselves: why the server paused one, whether it is well, who is told when that changes, and the outbox of what is told.

ALTER TABLE batch_exports
  -- {code, detail, at} of a pause by the server itself; null while active and when a person paused it
  ADD COLUMN pause_reason jsonb,
  -- the newest delivered interval may be this old before the export counts as late; null: the rule of server/engine/exports/health/freshness.ts
  ADD COLUMN freshness_seconds integer,
  -- when anything changed last that moves the schedule: lateness is not counted from before
  ADD COLUMN schedule_changed_at timestamptz NOT NULL DEFAULT now();

-- How an export does, changed only under the lock of the export's row; an export without a row is well.
CREATE TABLE batch_export_health (
  batch_export_id uuid PRIMARY KEY REFERENCES batch_exports ON DELETE CASCADE,
  -- the revision that the failures and the volume are about
  revision integer NOT NULL,
  -- runs in a row that failed since one completed or the export was unpaused
  consecutive_failures integer NOT NULL,
  is_failing boolean NOT NULL,
  is_late boolean NOT NULL,
  is_volume_unusual boolean NOT NULL,
  -- the end of the newest interval that a run of the schedule delivered
  delivered_until timestamptz
);

CREATE TABLE notice_targets (
  id uuid PRIMARY KEY,
  team_id integer NOT NULL REFERENCES projects ON DELETE CASCADE,
  type text NOT NULL CHECK (type IN ('email', 'webhook')),
  address text CHECK ((address IS NOT NULL) = (type = 'email')),
  url text CHECK ((url IS NOT NULL) = (type = 'webhook')),
  -- the signing secret of a webhook: AES-256-GCM envelope, see server/platform/secrets.ts
  secret bytea CHECK ((secret IS NOT NULL) = (type = 'webhook')),
  events text[] NOT NULL,
  -- null: all exports of the project
  batch_export_ids uuid[],
  enabled boolean NOT NULL,
  -- {at, notice, event, batch_export, outcome, detail, next_attempt_at} of the latest attempt
  last_attempt jsonb,
  created_by integer REFERENCES users ON DELETE SET NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  last_updated_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX notice_targets_by_project ON notice_targets (team_id, created_at DESC, id DESC);

-- What is told, written in the transaction of the change that it tells of.
CREATE TABLE notices (
  id uuid PRIMARY KEY,
  batch_export_id uuid NOT NULL REFERENCES batch_exports ON DELETE CASCADE,
  event text NOT NULL,
  -- the JSON text that webhooks get, to the byte
  body text NOT NULL,
  created_at timestamptz NOT NULL
);
CREATE INDEX notices_by_age ON notices (created_at);
CREATE INDEX notices_by_export ON notices (batch_export_id);

-- One notice on its way to one target, or to an administrator's address where the project has no target.
CREATE TABLE notice_deliveries (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  notice_id uuid NOT NULL REFERENCES notices ON DELETE CASCADE,
  target_id uuid REFERENCES notice_targets ON DELETE CASCADE,
  address text CHECK ((address IS NULL) = (target_id IS NOT NULL)),
  outcome text NOT NULL DEFAULT 'pending' CHECK (outcome IN ('pending', 'delivered', 'given_up')),
  attempts integer NOT NULL DEFAULT 0,
  -- null once it is over
  next_attempt_at timestamptz CHECK ((next_attempt_at IS NULL) = (outcome <> 'pending'))
);
-- the sender reads what is due from here, oldest first
CREATE INDEX notice_deliveries_due ON notice_deliveries (next_attempt_at) WHERE next_attempt_at IS NOT NULL;
CREATE INDEX notice_deliveries_by_notice ON notice_deliveries (notice_id);
CREATE INDEX notice_deliveries_by_target ON notice_deliveries (target_id) WHERE target_id IS NOT NULL;
