-- Each attempt at an event by a tool, beside the events in their order, so that it goes with them.
-- A row is compact: request and answer stand in `tool_exchanges` once for all events of a request,
-- and an erasure of one of these removes them. A skipped event has no row. Losing the last rows at
-- a loss of power is no harm, so nothing here waits for the disk.
CREATE TABLE IF NOT EXISTS tool_sends (
  team_id Int64,
  event_inserted_at DateTime64(6, 'UTC') CODEC(DoubleDelta, ZSTD(1)),
  event_uuid UUID CODEC(ZSTD(1)),
  event LowCardinality(String),
  event_timestamp DateTime64(6, 'UTC') CODEC(Delta, ZSTD(1)),
  plugin_config_id Int32 CODEC(ZSTD(1)),
  mapping LowCardinality(String),
  outcome LowCardinality(String),
  status UInt16 CODEC(ZSTD(1)),
  reason String CODEC(ZSTD(1)),
  -- the answer to an earlier attempt was lost
  is_again UInt8 CODEC(ZSTD(1)),
  is_replay UInt8 CODEC(ZSTD(1)),
  exchange_id UUID CODEC(ZSTD(1)),
  exchange_at DateTime64(6, 'UTC') CODEC(DoubleDelta, ZSTD(1)),
  inserted_at DateTime64(6, 'UTC') CODEC(DoubleDelta, ZSTD(1)),
  INDEX tool_sends_inserted_at inserted_at TYPE minmax GRANULARITY 1
) ENGINE = MergeTree
PARTITION BY toYYYYMM(event_inserted_at)
ORDER BY (team_id, event_inserted_at, event_uuid, plugin_config_id);

CREATE TABLE IF NOT EXISTS tool_exchanges (
  team_id Int64,
  event_inserted_at DateTime64(6, 'UTC') CODEC(DoubleDelta, ZSTD(1)),
  id UUID CODEC(ZSTD(1)),
  event LowCardinality(String),
  event_timestamp DateTime64(6, 'UTC') CODEC(Delta, ZSTD(1)),
  plugin_config_id Int32 CODEC(ZSTD(1)),
  exchanges String CODEC(ZSTD(3)),
  inserted_at DateTime64(6, 'UTC') CODEC(DoubleDelta, ZSTD(1)),
  INDEX tool_exchanges_inserted_at inserted_at TYPE minmax GRANULARITY 1
) ENGINE = MergeTree
PARTITION BY toYYYYMM(event_inserted_at)
ORDER BY (team_id, plugin_config_id, event_inserted_at, id);
