-- A range of rows that somebody downloads as files, once. Kept is which rows are in which file; the
-- rows are read when a file is fetched, so there is nothing that an erasure would have to rewrite.
CREATE TABLE file_downloads (
  id uuid PRIMARY KEY,
  team_id integer NOT NULL REFERENCES projects ON DELETE CASCADE,
  -- the export whose rows these are; null: those of a model
  batch_export_id uuid REFERENCES batch_exports ON DELETE SET NULL,
  model text NOT NULL,
  custom_query text,
  -- {include_events, exclude_events}
  event_filter jsonb NOT NULL,
  selects_by text NOT NULL,
  start_at timestamptz NOT NULL,
  end_at timestamptz NOT NULL,
  -- rows that were ingested from here on are not in it
  watermark timestamptz NOT NULL,
  file_format text NOT NULL,
  compression text,
  max_file_size_mb integer,
  status text NOT NULL DEFAULT 'Starting' CHECK (status IN ('Starting', 'Completed', 'Failed')),
  detail text,
  -- the slices of the source, one for each file; null until it is Completed
  slices jsonb,
  -- the process that counts the rows has it until then
  claimed_until timestamptz,
  attempts integer NOT NULL DEFAULT 0,
  created_by integer REFERENCES users ON DELETE SET NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL
);
CREATE INDEX file_downloads_by_project ON file_downloads (team_id, created_at DESC, id DESC);
CREATE INDEX file_downloads_starting ON file_downloads (created_at) WHERE status = 'Starting';
CREATE INDEX file_downloads_expired ON file_downloads (expires_at);
