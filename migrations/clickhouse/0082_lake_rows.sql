-- Rows of data files of the lake while they are written into one file, in their order. A partition
-- is a piece of work, dropped when it is over; what was dropped leaves the disk soon, because rows
-- of erased persons may be among it.
CREATE TABLE IF NOT EXISTS lake_rows (
  job UUID,
  number UInt64,
  row Array(Nullable(String))
) ENGINE = MergeTree
PARTITION BY job
ORDER BY number
SETTINGS old_parts_lifetime = 10;
