-- Maintenance of the Delta table of an export: as lake_maintenance for tables of the Iceberg
-- catalog. What the table has stands in its log; two exports into one table both maintain it.

CREATE TABLE delta_maintenance (
  batch_export_id uuid PRIMARY KEY REFERENCES batch_exports ON DELETE CASCADE,
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
