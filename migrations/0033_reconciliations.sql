-- Exports that came out of a backup and whose ledger may lack what was delivered after it. Until
-- that was asked at the destination they are paused and their open runs are not due.

CREATE TABLE reconciliations (
  batch_export_id uuid PRIMARY KEY REFERENCES batch_exports ON DELETE CASCADE,
  -- all rows that were inserted before are in the store that was restored, and none of later
  taken_at timestamptz NOT NULL,
  -- it was not paused in the backup, and goes on once it is reconciled
  goes_on boolean NOT NULL,
  -- why it still waits, as a sentence; null: nobody has asked the destination yet
  detail text
);
