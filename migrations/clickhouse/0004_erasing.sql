-- What erasures under way are about, so that the statements which remove rows name none of them: the
-- text of a mutation stays on the disk for long. A partition is an erasure, dropped when it is over.
CREATE TABLE IF NOT EXISTS erasing_ids (
  erasure_id UUID,
  distinct_id String
) ENGINE = MergeTree
PARTITION BY erasure_id
ORDER BY distinct_id;

-- `kind` is `event` or `person`, `key` a uuid of an event or the distinct id of a version of a person.
CREATE TABLE IF NOT EXISTS erasing_rows (
  erasure_id UUID,
  kind LowCardinality(String),
  key String,
  event String,
  timestamp DateTime64(6, 'UTC'),
  inserted_at DateTime64(6, 'UTC')
) ENGINE = MergeTree
PARTITION BY erasure_id
ORDER BY (kind, key);
