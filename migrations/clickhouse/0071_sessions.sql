-- The session of an event, and where a session's events are. `session_id` is the text of
-- `$session_id`, its first 400 characters, empty where there is none. It is made of the properties,
-- so neither an insert nor `SELECT *` has it. ClickHouse's reader gives up a document with a number
-- beyond 64 bits or half of a surrogate pair; there the id is looked for in the text. The
-- projection finds the insertions of an id, by which the table is sorted; its marks are close
-- together, because random ids each hit a granule of their own. The background migrations go
-- through older rows.
ALTER TABLE events ADD COLUMN IF NOT EXISTS session_id String MATERIALIZED
  if(position(properties, '$session_id') = 0, '',
    substringUTF8(ifNull(JSONExtract(properties, '$session_id', 'Nullable(String)'),
      if(isValidJSON(properties), '',
        JSONExtractString(concat('["',
          extract(properties, '"[$]session_id": *"((?:[^"\\\\]|\\\\.)+)"'), '"]'), 1))), 1, 400))
  CODEC(ZSTD(1));

ALTER TABLE events ADD PROJECTION IF NOT EXISTS sessions (
  SELECT team_id, session_id, inserted_at ORDER BY team_id, session_id
) WITH SETTINGS (index_granularity = 512);

-- Sessions that lost events by an erasure, at the instant from which on they are without them: such
-- a session is exported again, though no event of it was inserted.
CREATE TABLE IF NOT EXISTS session_removals (
  team_id Int64,
  session_id String,
  inserted_at DateTime64(6, 'UTC') CODEC(DoubleDelta, ZSTD(1))
) ENGINE = MergeTree
ORDER BY (team_id, inserted_at, session_id)
SETTINGS fsync_after_insert = 1, fsync_part_directory = 1;
