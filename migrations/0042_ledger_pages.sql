-- A ledger of very many rectangles (an export that was backfilled in pieces for years) is kept in
-- pages, so that a run reads and writes what lies near it and not all of it.

-- Whose ledger has pages has JSON null in `batch_export_ledgers.delivered`: a release that knows no
-- pages fails there, and takes nothing for undelivered.
CREATE TABLE batch_export_ledger_pages (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  batch_export_id uuid NOT NULL REFERENCES batch_exports ON DELETE CASCADE,
  revision integer NOT NULL,
  -- around its rectangles: milliseconds, infinite for no bound
  event_from double precision NOT NULL,
  event_to double precision NOT NULL,
  inserted_from double precision NOT NULL,
  inserted_to double precision NOT NULL,
  delivered jsonb NOT NULL
);
CREATE INDEX batch_export_ledger_pages_export
  ON batch_export_ledger_pages (batch_export_id, revision);
