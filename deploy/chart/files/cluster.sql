CREATE DATABASE IF NOT EXISTS sluice
  ENGINE = Replicated('/clickhouse/databases/sluice', '{shard}', '{replica}')
  SETTINGS collection_name = 'replicas';
