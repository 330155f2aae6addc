-- Migrations of the analytics store that go through a table partition by partition while the server
-- serves, and how far each of them is.

CREATE TABLE background_migrations (
  name text PRIMARY KEY,
  sha256 text NOT NULL,
  -- the release that brought it
  release text NOT NULL,
  purpose text NOT NULL,
  table_name text NOT NULL,
  -- for one partition, with '{partition}' where its id belongs
  statement text NOT NULL,
  -- what it waits for, or why the store cannot, as a sentence
  detail text,
  is_failing boolean NOT NULL DEFAULT false,
  -- what the store cannot do is taken back, so that it keeps nothing else from the table
  try_again_at timestamptz,
  added_at timestamptz NOT NULL DEFAULT now(),
  -- when its partitions were listed: later ones are written as they should be
  started_at timestamptz,
  finished_at timestamptz
);

CREATE TABLE background_migration_partitions (
  name text NOT NULL REFERENCES background_migrations ON DELETE CASCADE,
  partition text NOT NULL,
  -- what it held when it was listed
  rows bigint NOT NULL,
  bytes bigint NOT NULL,
  parts integer NOT NULL,
  -- parts that were to be rewritten when it was looked at last
  parts_left integer,
  -- by the analytics store's clock: whatever was asked for is not older
  started_at timestamptz,
  finished_at timestamptz,
  PRIMARY KEY (name, partition)
);
