import type { ClickHouse } from '../../platform/clickhouse/client.ts';
import type { Clock } from '../../platform/clock.ts';
import type { DiskRoom } from '../../platform/disk/disk_room.ts';
import type { Logger } from '../../platform/log.ts';
import type { Database } from '../../platform/postgres/database.ts';
import type { Secrets } from '../../platform/secrets/secrets.ts';
import { openIngestion } from './batcher.ts';
import type { Ingestion } from './batcher.ts';

type Parts = {
  secrets: Secrets;
  db: Database;
  clickhouse: ClickHouse;
  clock: Clock;
  log: Logger;
  disk: DiskRoom;
};

const opened = new WeakMap<Parts, Ingestion>();

/**
 * Returns the only ingestion of a process, which stores waiting events of one project together,
 * whatever their source.
 */
export function sharedIngestion(parts: Parts): Ingestion {
  const known = opened.get(parts);
  if (known !== undefined) return known;
  const ingestion = openIngestion(parts);
  opened.set(parts, ingestion);
  return ingestion;
}
