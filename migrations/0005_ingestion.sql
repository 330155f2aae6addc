-- What ingestion remembers per project between batches and between processes: the last insertion time given out, so that the
-- next one is greater, and the batch that is being written, so that a killed process leaves word of what it had begun.
CREATE TABLE ingestion_states (
  team_id integer PRIMARY KEY REFERENCES projects ON DELETE CASCADE,
  -- null until the first batch
  last_inserted_at timestamptz,
  -- below this instant insertions were promised to be final: no later batch may get an earlier one, even when the clock was put back
  settled_until timestamptz,
  -- grows with each batch that writes persons; a process whose cache of persons is of another generation throws it away
  persons_generation bigint NOT NULL DEFAULT 0,
  -- the batch under way; null when the last one ended and its fate is known
  batch_id uuid,
  -- from here on its writer sends nothing more for the batch, and the store ends the statements by itself
  batch_ends_at timestamptz
);

-- Batches of unknown fate are looked for once a second, among as many rows as there are projects.
CREATE INDEX ingestion_states_open ON ingestion_states (batch_ends_at) WHERE batch_id IS NOT NULL;
