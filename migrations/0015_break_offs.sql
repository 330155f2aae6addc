-- A run that takes its worker process down would be taken up again without end, and take its neighbours down each time (docs/decisions/0024). So a run remembers the workers that fell silent with it.

ALTER TABLE workers
  -- it was told to stop: what it does not finish in time is nobody's fault
  ADD COLUMN is_stopping boolean NOT NULL DEFAULT false;

ALTER TABLE batch_export_runs
  -- the workers that ended without a word while they had the run, since it last got further; one that was only slow takes itself off again
  ADD COLUMN silent_workers uuid[] NOT NULL DEFAULT '{}',
  ADD COLUMN break_offs integer NOT NULL GENERATED ALWAYS AS (cardinality(silent_workers)) STORED,
  -- the most slices that were ever safe at once: to write again what got lost is no progress
  ADD COLUMN slices_safe_max integer NOT NULL DEFAULT 0;

-- the few open runs that broke off, in which a worker that lives looks for itself
CREATE INDEX batch_export_runs_broken_off ON batch_export_runs (id) WHERE status IN ('Starting', 'Running') AND break_offs > 0;
-- as before, and with what a claim passes over unless the worker is free of other runs
DROP INDEX batch_export_runs_waiting;
CREATE INDEX batch_export_runs_waiting ON batch_export_runs (team_id, due_at, id) INCLUDE (host, break_offs) WHERE status IN ('Starting', 'Running') AND worker_id IS NULL;
