import type { Deps } from '../../deps.ts';
import type { ClickHouse } from '../../platform/clickhouse/client.ts';
import { fault, ok, warning } from './finding.ts';
import type { Finding } from './finding.ts';

/** Reports the free disk space of the stores, and tables that grow without end. */
export async function lookAtDisk({
  disk,
  clickhouse,
}: Pick<Deps, 'disk' | 'clickhouse'>): Promise<Finding[]> {
  await disk.look();
  const state = disk.state();
  const room =
    state === 'full'
      ? fault('disk', `the server answers events with 503. ${disk.detail()} Make room.`)
      : state === 'low'
        ? warning('disk', disk.detail())
        : state === undefined
          ? warning(
              'disk',
              'the free room of the stores could not be measured; events are accepted.',
            )
          : ok('disk', 'enough room for the stores');
  return [room, ...(await endlessLogs(clickhouse))];
}

/**
 * Finds log tables that the operator's ClickHouse keeps for ever, with the statement that bounds
 * each.
 */
async function endlessLogs(clickhouse: ClickHouse): Promise<Finding[]> {
  const logs = await clickhouse.rows<{ name: string; size: string | null }>({
    query: `SELECT name, formatReadableSize(total_bytes) AS size FROM system.tables
      WHERE database = 'system' AND name LIKE '%\\_log' AND engine LIKE '%MergeTree'
        AND create_table_query NOT LIKE '% TTL %' ORDER BY total_bytes DESC`,
  });
  return logs.map(({ name, size }) =>
    warning(
      'ClickHouse log',
      `system.${name} (${size ?? 'size unknown'}) has no end. Give it one in the server's ` +
        `configuration (deploy/chart/files/system_logs.xml), or now: ALTER TABLE system.${name} ` +
        'MODIFY TTL event_date + INTERVAL 14 DAY.',
    ),
  );
}
