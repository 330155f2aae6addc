-- Sluice is an Iceberg catalog: namespaces and tables of a project, and the pointer from a table to
-- its metadata file. Pointer, snapshots and the answer of a commit change in one transaction.

CREATE TABLE lake_namespaces (
  id uuid PRIMARY KEY,
  team_id integer NOT NULL REFERENCES projects ON DELETE CASCADE,
  levels text[] NOT NULL CHECK (cardinality(levels) BETWEEN 1 AND 16),
  properties jsonb NOT NULL DEFAULT '{}',
  -- where new tables go
  location text NOT NULL,
  -- the export whose destination has the keys of that place; null: the server's export folder
  batch_export_id uuid REFERENCES batch_exports ON DELETE SET NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT lake_namespaces_levels_unique UNIQUE (team_id, levels)
);

CREATE TABLE lake_tables (
  id uuid PRIMARY KEY,
  team_id integer NOT NULL REFERENCES projects ON DELETE CASCADE,
  namespace_id uuid NOT NULL REFERENCES lake_namespaces ON DELETE CASCADE,
  name text NOT NULL,
  -- the export that writes the table; null: its clients alone do
  batch_export_id uuid REFERENCES batch_exports ON DELETE SET NULL,
  location text NOT NULL,
  metadata_location text NOT NULL,
  -- counts the metadata files
  version bigint NOT NULL,
  -- The metadata without snapshots and snapshot-log. Text, since ids of snapshots have 63 bits.
  metadata text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT lake_tables_name_unique UNIQUE (namespace_id, name)
);
CREATE INDEX lake_tables_by_project ON lake_tables (team_id);

-- In rows of their own, so that a commit stores one snapshot and not all of them again.
CREATE TABLE lake_snapshots (
  table_id uuid NOT NULL REFERENCES lake_tables ON DELETE CASCADE,
  snapshot_id bigint NOT NULL,
  number bigint GENERATED ALWAYS AS IDENTITY,
  timestamp_ms bigint NOT NULL,
  snapshot text NOT NULL,
  PRIMARY KEY (table_id, snapshot_id)
);

-- Which snapshot was the current one from when on.
CREATE TABLE lake_snapshot_log (
  table_id uuid NOT NULL REFERENCES lake_tables ON DELETE CASCADE,
  number bigint GENERATED ALWAYS AS IDENTITY,
  snapshot_id bigint NOT NULL,
  timestamp_ms bigint NOT NULL,
  PRIMARY KEY (table_id, number)
);

-- Answers to changes that came with an Idempotency-Key, for 24 h.
CREATE TABLE lake_answers (
  team_id integer NOT NULL REFERENCES projects ON DELETE CASCADE,
  key uuid NOT NULL,
  -- by what a repeat is told from another request
  request_hash bytea NOT NULL,
  status smallint NOT NULL,
  -- null: none, or the table `table_id` as it is when it is asked for again
  answer text,
  table_id uuid,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (team_id, key)
);
CREATE INDEX lake_answers_by_age ON lake_answers (created_at);
