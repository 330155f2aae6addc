-- Rows of data files of the lake while they are written into one file, in their order. A partition
-- is a piece of work, dropped when it is over.
CREATE TABLE IF NOT EXISTS lake_rows (
  job UUID,
  number UInt64,
  row Array(Nullable(String))
) ENGINE = MergeTree
PARTITION BY job
ORDER BY number;
