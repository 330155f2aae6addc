-- What ingestion remembers per project between batches and between processes: the last insertion time given out, so that the
-- next one is greater, and the batch that is being written, so that a killed process leaves word of what it had begun.
CREATE TABLE ingestion_states (
  team_id integer PRIMARY KEY REFERENCES projects ON DELETE CASCADE,
  last_inserted_at timestamptz NOT NULL,
  -- grows with each batch that writes persons; a process whose cache of persons is of another generation throws it away
  persons_generation bigint NOT NULL DEFAULT 0,
  -- the batch under way; null when the last one ended and its fate is known
  batch_id uuid,
  -- from here on the store has ended the batch's statements by itself
  batch_ends_at timestamptz
);
