-- Maintenance of tables of the Iceberg catalog: snapshots expire, small files become large ones,
-- and files that no snapshot reaches are removed. The deliveries of a table stay known.

-- By columns, a commit finds its delivery without reading the text of each snapshot.
ALTER TABLE lake_snapshots ADD COLUMN parent_id bigint, ADD COLUMN delivery_id text;
UPDATE lake_snapshots SET parent_id = (snapshot::jsonb ->> 'parent-snapshot-id')::bigint,
  delivery_id = snapshot::jsonb -> 'summary' ->> 'sluice.delivery-id';
CREATE INDEX lake_snapshots_by_delivery ON lake_snapshots (table_id, delivery_id)
  WHERE delivery_id IS NOT NULL;
CREATE INDEX lake_snapshots_in_order ON lake_snapshots (table_id, number);

-- Counts the commits that took snapshots out: until the next one, the list of snapshots only grows.
ALTER TABLE lake_tables ADD COLUMN expiries integer NOT NULL DEFAULT 0;

-- Snapshots that the table has no more. Without them nobody could tell whether an older delivery
-- was shown, and a retry would add its rows twice.
CREATE TABLE lake_expired_snapshots (
  table_id uuid NOT NULL REFERENCES lake_tables ON DELETE CASCADE,
  snapshot_id bigint NOT NULL,
  -- as in lake_snapshots
  number bigint NOT NULL,
  parent_id bigint,
  delivery_id text,
  -- null: what it alone reached is removed
  manifest_list text,
  -- files of statistics that went with it
  statistics text[] NOT NULL DEFAULT '{}',
  expired_at timestamptz NOT NULL,
  PRIMARY KEY (table_id, snapshot_id)
);
CREATE INDEX lake_expired_snapshots_by_delivery ON lake_expired_snapshots (table_id, delivery_id)
  WHERE delivery_id IS NOT NULL;
CREATE INDEX lake_expired_snapshots_left ON lake_expired_snapshots (table_id)
  WHERE manifest_list IS NOT NULL;

-- Data files whose rows stand in another file since: receipts of deliveries name the first one.
CREATE TABLE lake_replaced_files (
  table_id uuid NOT NULL REFERENCES lake_tables ON DELETE CASCADE,
  path text NOT NULL,
  -- null: an erasure removed all of its rows
  successor text,
  records bigint NOT NULL,
  replaced_at timestamptz NOT NULL,
  PRIMARY KEY (table_id, path)
);
CREATE INDEX lake_replaced_files_by_successor ON lake_replaced_files (table_id, successor);

-- The files that have those rows now, as they were written. Their rows, and those that erasures
-- removed, are as many as the files had that they stand for.
CREATE TABLE lake_successors (
  table_id uuid NOT NULL REFERENCES lake_tables ON DELETE CASCADE,
  path text NOT NULL,
  records bigint NOT NULL,
  erased bigint NOT NULL,
  bytes bigint NOT NULL,
  sha256 text NOT NULL,
  PRIMARY KEY (table_id, path)
);

-- The latest maintenance of a table, and who is at it.
CREATE TABLE lake_maintenance (
  table_id uuid PRIMARY KEY REFERENCES lake_tables ON DELETE CASCADE,
  due_at timestamptz NOT NULL DEFAULT now(),
  claim_id uuid,
  claimed_at timestamptz,
  finished_at timestamptz,
  -- counts of the latest round that changed something, by name
  result jsonb NOT NULL DEFAULT '{}',
  changed_at timestamptz,
  -- why the latest round failed, or what it left alone
  detail text,
  -- when files were removed the last time
  cleaned_at timestamptz
);
