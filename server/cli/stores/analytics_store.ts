import type { Config } from '../../config/config.ts';
import { openClickHouse } from '../../platform/clickhouse/client.ts';
import type { ClickHouse } from '../../platform/clickhouse/client.ts';
import type { ReplicaOptions } from '../../platform/clickhouse/topology/replicas.ts';
import { findMode } from '../../platform/clickhouse/topology/detect.ts';

/**
 * Opens the analytics store of this server, of the cluster that the settings name. It is taken for
 * one node until its mode was found. Commands open it in no other way.
 */
export function openAnalytics(
  { clickhouse_cluster }: Pick<Config, 'clickhouse_cluster'>,
  { clickhouse_url }: { clickhouse_url: string },
  options: Omit<ReplicaOptions, 'cluster'> & { application: string },
): ClickHouse {
  return openClickHouse(clickhouse_url, { ...options, cluster: clickhouse_cluster });
}

/**
 * The same with its mode, for a look at the store as it is. One that a start would refuse is looked
 * at as one node: what is wrong with it is for others to tell.
 */
export async function openAnalyticsAsIs(
  ...given: Parameters<typeof openAnalytics>
): Promise<ClickHouse> {
  const clickhouse = openAnalytics(...given);
  try {
    await findMode(clickhouse);
  } catch {
    // It does not answer; what asks it next says so.
  }
  return clickhouse;
}
