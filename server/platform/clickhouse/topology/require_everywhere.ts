import { setTimeout as pause } from 'node:timers/promises';
import type { ClickHouse } from '../client.ts';
import { ddl_seconds } from './request_settings.ts';
import { everywhere, quoted } from './statements.ts';

const pause_ms = 500;

/**
 * Returns when every replica has the same columns of the same tables as the one that is asked. A
 * statement for all replicas may be answered before a slow one has done it. Throws after a minute,
 * with the replicas that lack something.
 */
export async function requireEverywhere(clickhouse: ClickHouse): Promise<void> {
  const { mode } = clickhouse;
  if (mode.kind === 'one_node' || mode.kind === 'cloud') return;
  const deadline = performance.now() + ddl_seconds * 1_000;
  for (;;) {
    const result = await clickhouse.query({
      query: `SELECT hostName() AS host,
          arrayStringConcat(arraySort(groupArray(concat(table, '.', name, ' ', type))), ', ') AS is
        FROM ${everywhere(mode, 'system.columns')}
        WHERE database = ${quoted(mode.database)} GROUP BY host ORDER BY host`,
      format: 'JSONEachRow',
    });
    const hosts = await result.json<{ host: string; is: string }>();
    const { length } = await replicasOf(clickhouse, mode.cluster);
    if (hosts.length >= length && new Set(hosts.map(({ is }) => is)).size <= 1) return;
    if (performance.now() > deadline) throw new Error(told(hosts, length));
    await pause(pause_ms);
  }
}

/** The replicas of a cluster, as its configuration has them. */
export async function replicasOf(
  clickhouse: ClickHouse,
  cluster: string,
): Promise<{ host_name: string }[]> {
  const result = await clickhouse.query({
    query: 'SELECT host_name FROM system.clusters WHERE cluster = {cluster:String}',
    query_params: { cluster },
    format: 'JSONEachRow',
  });
  return result.json<{ host_name: string }>();
}

function told(hosts: { host: string; is: string }[], wanted: number): string {
  const most = Math.max(0, ...hosts.map(({ is }) => is.length));
  const behind = hosts.filter(({ is }) => is.length < most).map(({ host }) => host);
  return (
    `Not every replica of the analytics store has all tables: ${hosts.length} of ${wanted} have ` +
    `some${behind.length > 0 ? `, behind is ${behind.join(', ')}` : ''}. See to them, and start ` +
    'again.'
  );
}
