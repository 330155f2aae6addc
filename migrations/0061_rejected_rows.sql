-- Rows that a destination refuses for what they are can be set aside instead of stopping their run:
-- whether an export does so and how many, how many of a run there are, and whether its newest run
-- had any, for the notices.

ALTER TABLE batch_exports
  ADD COLUMN rejected_rows text NOT NULL DEFAULT 'stop'
    CHECK (rejected_rows IN ('stop', 'set_aside')),
  -- a run that refuses more rows than this, or more percent of its rows, fails
  ADD COLUMN rejected_rows_max integer NOT NULL DEFAULT 1000,
  ADD COLUMN rejected_percent_max integer NOT NULL DEFAULT 10;

-- Part of `records_total_count` that is not in `records_completed`.
ALTER TABLE batch_export_runs ADD COLUMN records_rejected bigint NOT NULL DEFAULT 0;

ALTER TABLE batch_export_health ADD COLUMN is_rejecting boolean NOT NULL DEFAULT false;
