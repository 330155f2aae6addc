-- Events in the order in which exports read them: a project's insertions, oldest first. `inserted_at` is set by the
-- server, grows with each batch of a project and never changes; a backfill reads by `timestamp`, which the minmax index
-- narrows because events arrive near the time at which they happen.
-- The projection finds a project's uuids on the way in; it is written with the rows themselves, so a kill cannot part them. It is
-- sorted by the uuid's number, because ClickHouse compares UUIDs by their second half first, which would scatter version 7; and its
-- marks are close together, because random uuids each hit a granule of their own. (Both measured: docs/decisions/0009_uuid_lookup.md.)
CREATE TABLE IF NOT EXISTS events (
  team_id Int64,
  uuid UUID,
  event String,
  distinct_id String,
  person_id UUID,
  properties String CODEC(ZSTD(1)),
  person_properties String CODEC(ZSTD(1)),
  elements_chain String CODEC(ZSTD(1)),
  timestamp DateTime64(6, 'UTC') CODEC(DoubleDelta, ZSTD(1)),
  created_at DateTime64(6, 'UTC') CODEC(DoubleDelta, ZSTD(1)),
  inserted_at DateTime64(6, 'UTC') CODEC(DoubleDelta, ZSTD(1)),
  INDEX events_timestamp timestamp TYPE minmax GRANULARITY 1,
  PROJECTION uuids (SELECT team_id, uuid ORDER BY team_id, toUInt128(uuid)) WITH SETTINGS (index_granularity = 256)
) ENGINE = MergeTree
PARTITION BY toYYYYMM(inserted_at)
ORDER BY (team_id, inserted_at, uuid)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1;

-- Every version of a person, append only: what a person was as of an instant can always be asked again, so that an
-- export counts and reads the same rows. The latest version below a watermark is the person. Granules are small because a batch
-- of events asks for a few persons here and there; the projection finds who changed in a range of insertion times.
CREATE TABLE IF NOT EXISTS persons (
  team_id Int64,
  distinct_id String,
  person_id UUID,
  properties String CODEC(ZSTD(1)),
  person_version Int64,
  person_distinct_id_version Int64,
  is_deleted UInt8,
  created_at DateTime64(6, 'UTC'),
  inserted_at DateTime64(6, 'UTC') CODEC(DoubleDelta, ZSTD(1)),
  INDEX persons_inserted_at inserted_at TYPE minmax GRANULARITY 1,
  PROJECTION insertions (SELECT team_id, inserted_at, distinct_id ORDER BY team_id, inserted_at)
) ENGINE = MergeTree
ORDER BY (team_id, distinct_id, person_version)
SETTINGS index_granularity = 1024, fsync_after_insert = 1, fsync_part_directory = 1;
