-- Workers take runs from batch_export_runs itself, fairly between projects and within bounds per project and per host of a destination (docs/decisions/0018). A run that waits
-- has no worker; one that is held has the worker's id, which counts for nothing once the worker's heartbeat is old.

CREATE TABLE workers (
  id uuid PRIMARY KEY,
  heartbeat_at timestamptz NOT NULL DEFAULT now()
);

ALTER TABLE batch_export_runs
  -- the project of the export, beside the run so that an index can lead from project to project
  ADD COLUMN team_id integer,
  -- where the destination is, as far as runs against one host are bounded; null: they are not
  ADD COLUMN host text,
  -- not to be taken before this instant: the pause after a failed attempt
  ADD COLUMN due_at timestamptz NOT NULL DEFAULT now(),
  ADD COLUMN worker_id uuid;
UPDATE batch_export_runs run SET team_id = export.team_id FROM batch_exports export WHERE export.id = run.batch_export_id;
ALTER TABLE batch_export_runs ALTER COLUMN team_id SET NOT NULL;

-- the runs that wait for a worker: project by project, in each the one that waits longest first
CREATE INDEX batch_export_runs_waiting ON batch_export_runs (team_id, due_at, id) INCLUDE (host) WHERE status IN ('Starting', 'Running') AND worker_id IS NULL;
-- the few runs that workers hold: what the bounds count, and what a dead worker has left
CREATE INDEX batch_export_runs_held ON batch_export_runs (worker_id) WHERE status IN ('Starting', 'Running') AND worker_id IS NOT NULL;
-- the few open runs that somebody wants taken back
CREATE INDEX batch_export_runs_cancelling ON batch_export_runs (id) WHERE status IN ('Starting', 'Running') AND cancel_requested_at IS NOT NULL;
-- what planning must leave out of an export: what is under way or in doubt, whatever the length of its history
CREATE INDEX batch_export_runs_taken ON batch_export_runs (batch_export_id)
  WHERE status IN ('Starting', 'Running') OR (status <> 'Completed' AND committing_at IS NOT NULL);
-- what a backfill has open or failed, whatever it has completed
CREATE INDEX batch_export_runs_not_completed ON batch_export_runs (backfill_id) WHERE backfill_id IS NOT NULL AND status <> 'Completed';
-- looked for runs that no job carried; without it progress changes no index
DROP INDEX batch_export_runs_open;
