-- Notices of one receiver do not wait for those of another one, addresses of webhooks are kept like the secrets that they often hold, a target that the server switched off says why, and a run says when it
-- makes up for a backfill's, which nothing else in its row tells for certain.

ALTER TABLE notice_deliveries
  -- the project of the export, and the export itself, beside the delivery so that indexes can lead from project to project and along the notices of one export
  ADD COLUMN team_id integer,
  ADD COLUMN batch_export_id uuid,
  -- who gets it: the deliveries of one recipient go one after another
  ADD COLUMN recipient text NOT NULL GENERATED ALWAYS AS (coalesce(target_id::text, address)) STORED,
  -- in the hands of a process, until next_attempt_at at the latest
  ADD COLUMN is_under_way boolean NOT NULL DEFAULT false;
UPDATE notice_deliveries d SET team_id = e.team_id, batch_export_id = e.id FROM notices n JOIN batch_exports e ON e.id = n.batch_export_id WHERE n.id = d.notice_id;
ALTER TABLE notice_deliveries ALTER COLUMN team_id SET NOT NULL, ALTER COLUMN batch_export_id SET NOT NULL;

-- what waits, project by project, in each the delivery that is due longest first
CREATE INDEX notice_deliveries_waiting ON notice_deliveries (team_id, next_attempt_at, id) WHERE outcome = 'pending';
DROP INDEX notice_deliveries_due;
-- the few deliveries that processes hold: what the bounds count
CREATE INDEX notice_deliveries_under_way ON notice_deliveries (team_id) WHERE is_under_way;
-- whether an earlier notice of the same export is still on its way to the same recipient
CREATE INDEX notice_deliveries_in_order ON notice_deliveries (batch_export_id, recipient, id) WHERE outcome = 'pending';

ALTER TABLE notice_targets
  -- the whole address of a webhook: AES-256-GCM envelope; `url` is what is shown of it. Null until a process has sealed an address from before this migration
  ADD COLUMN url_sealed bytea CHECK (url_sealed IS NULL OR type = 'webhook'),
  -- {code, detail, at} of the server's switching it off; null while enabled and when a person switched it off
  ADD COLUMN disabled_reason jsonb,
  -- the receiver has asked to be left alone until then
  ADD COLUMN held_until timestamptz;

-- the run delivers what others had left to a backfill's run that ended without it, or is a retry of such a run
ALTER TABLE batch_export_runs ADD COLUMN is_make_up boolean NOT NULL DEFAULT false;
UPDATE batch_export_runs SET is_make_up = true WHERE backfill_id IS NULL AND delivery_id IN (
  SELECT run.delivery_id FROM batch_export_runs run JOIN batch_export_logs line ON line.run_id = run.id WHERE line.message LIKE 'Delivers what other runs had left to run %');
