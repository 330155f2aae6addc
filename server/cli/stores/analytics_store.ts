import type { Config } from '../../config/config.ts';
import { openClickHouse } from '../../platform/clickhouse/client.ts';
import type { ClickHouse } from '../../platform/clickhouse/client.ts';
import type { ReplicaOptions } from '../../platform/clickhouse/topology/replicas.ts';
import { findMode } from '../../platform/clickhouse/topology/detect.ts';

/**
 * Opens the analytics store of this server or of the configured cluster. It counts as one node
 * until its mode is known. All commands open it here.
 */
export function openAnalytics(
  { clickhouse_cluster }: Pick<Config, 'clickhouse_cluster'>,
  { clickhouse_url }: { clickhouse_url: string },
  options: Omit<ReplicaOptions, 'cluster'> & { application: string },
): ClickHouse {
  return openClickHouse(clickhouse_url, { ...options, cluster: clickhouse_cluster });
}

/**
 * Opens the analytics store and reads its mode, without changing it. A store that a start would
 * refuse counts as one node; other findings report its fault.
 */
export async function openAnalyticsAsIs(
  ...given: Parameters<typeof openAnalytics>
): Promise<ClickHouse> {
  const clickhouse = openAnalytics(...given);
  try {
    await findMode(clickhouse);
  } catch {
    // It does not answer; the next query reports that.
  }
  return clickhouse;
}
