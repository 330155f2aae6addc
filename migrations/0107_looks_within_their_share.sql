-- Looks on a schedule cost what was measured, and a look at all deliveries waits for its budget.

ALTER TABLE batch_export_watches
  -- measured processor time of looks, as a multiple of the estimate
  ADD COLUMN look_factor double precision NOT NULL DEFAULT 1,
  -- a look at all deliveries that waits for its budget: where it continues, what it found so far
  ADD COLUMN paused_cycle jsonb,
  -- when a part of a look at all deliveries ended
  ADD COLUMN cycle_looked_at timestamptz,
  -- how the latest look asked: by seals, or by contents; null: none has ended
  ADD COLUMN asks text CHECK (asks IN ('seals', 'contents'));
