-- How long a project keeps its events and the superseded versions of its persons, and what was
-- removed of them when.

ALTER TABLE projects
  ADD COLUMN retention text NOT NULL DEFAULT 'forever'
    CHECK (retention IN ('forever', 'days', 'until_delivered')),
  -- rows are kept for so many days at least
  ADD COLUMN retention_days integer NOT NULL DEFAULT 30 CHECK (retention_days BETWEEN 1 AND 36500),
  -- when a process last looked for rows that may go
  ADD COLUMN retention_looked_at timestamptz;

CREATE TABLE retention_removals (
  id uuid PRIMARY KEY,
  team_id integer NOT NULL REFERENCES projects ON DELETE CASCADE,
  retention text NOT NULL,
  -- everything that it removes was taken in before
  removed_before timestamptz NOT NULL,
  -- what it removes, decided under the locks of the project's exports;
  -- see server/engine/privacy/retention/decide.ts
  areas jsonb NOT NULL,
  -- rows that were there to be removed when the first process looked
  events bigint,
  persons bigint,
  started_at timestamptz NOT NULL DEFAULT now(),
  -- when a process took it last; one that was killed is followed by another one
  claimed_at timestamptz,
  -- when the analytics store, asked again, had none of these rows
  ended_at timestamptz
);
CREATE UNIQUE INDEX retention_removals_open ON retention_removals (team_id) WHERE ended_at IS NULL;
CREATE INDEX retention_removals_by_project ON retention_removals (team_id, started_at DESC);

-- What is removed when its time is over is found by these.
CREATE INDEX batch_export_runs_without_rows ON batch_export_runs (finished_at)
  WHERE status = 'Completed' AND records_completed = 0 AND backfill_id IS NULL AND id = delivery_id;
CREATE INDEX batch_exports_deleted ON batch_exports (deleted_at) WHERE deleted_at IS NOT NULL;
