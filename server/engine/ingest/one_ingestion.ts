import type { ClickHouse } from '../../platform/clickhouse/client.ts';
import type { Logger } from '../../platform/log.ts';
import type { Metrics } from '../../platform/metrics.ts';
import type { Database } from '../../platform/postgres/database.ts';
import { openIngestion } from './batcher.ts';
import type { Ingestion } from './batcher.ts';
import { openNoteWarning } from './identity_warning.ts';

type Parts = {
  db: Database;
  clickhouse: ClickHouse;
  log: Logger;
  metrics: Metrics;
  config: { settle_seconds: number };
};

const opened = new WeakMap<Parts, Ingestion>();

/**
 * The one ingestion of a process: whatever way events come in, those of a project that wait
 * together are stored together.
 */
export function sharedIngestion(parts: Parts): Ingestion {
  const known = opened.get(parts);
  if (known !== undefined) return known;
  const { db, clickhouse, log, config } = parts;
  const ingestion = openIngestion({
    db,
    clickhouse,
    log,
    noteWarning: openNoteWarning(parts),
    settle_seconds: config.settle_seconds,
  });
  opened.set(parts, ingestion);
  return ingestion;
}
