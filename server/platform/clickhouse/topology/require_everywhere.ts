import { setTimeout as pause } from 'node:timers/promises';
import type { ClickHouse } from '../client.ts';
import { stored_tables } from './mode.ts';
import { ddl_seconds } from './request_settings.ts';
import { literal } from '../quote.ts';
import { everywhere } from './statements.ts';

const pause_ms = 500;

/**
 * Returns when every replica has the same columns in our tables. A statement for all replicas may
 * be acknowledged before a slow one has applied it. Throws after a minute, with the replicas that
 * lag; at once if one is unreachable.
 */
export async function requireEverywhere(clickhouse: ClickHouse): Promise<void> {
  const deadline = performance.now() + ddl_seconds * 1_000;
  for (;;) {
    const lacking = await findLacking(clickhouse);
    if (lacking === undefined) return;
    if (performance.now() > deadline)
      throw new Error(
        `Not every replica of the analytics store has all tables: ${lacking}. Repair these ` +
          'replicas, then start the server again.',
      );
    await pause(pause_ms);
  }
}

/** Describes what replicas lack of the tables; undefined if all have the same. */
export async function findLacking(clickhouse: ClickHouse): Promise<string | undefined> {
  const { mode } = clickhouse;
  if (mode.kind === 'one_node' || mode.kind === 'cloud') return undefined;
  const hosts = await clickhouse.rows<{ host: string; columns: string }>({
    query: `SELECT hostName() AS host,
        arrayStringConcat(arraySort(groupArray(concat(table, '.', name, ' ', type))), ', ')
          AS columns
      FROM ${everywhere(mode, 'system.columns')}
      WHERE database = ${literal(mode.database)} AND table IN {tables:Array(String)}
      GROUP BY host ORDER BY host`,
    query_params: { tables: [...stored_tables, 'person_distinct_ids'] },
  });
  const { length } = await replicasOf(clickhouse, mode.cluster);
  if (hosts.length < length) return `${hosts.length} of ${length} have some`;
  const most = Math.max(...hosts.map(({ columns }) => columns.length));
  const [first] = hosts;
  if (hosts.every(({ columns }) => columns === first?.columns)) return undefined;
  const behind = hosts.filter(({ columns }) => columns.length < most).map(({ host }) => host);
  return `behind is ${behind.join(', ')}`;
}

/** Returns the replicas of a cluster from its configuration. */
export async function replicasOf(
  clickhouse: ClickHouse,
  cluster: string,
): Promise<{ host_name: string }[]> {
  return clickhouse.rows<{ host_name: string }>({
    query: 'SELECT host_name FROM system.clusters WHERE cluster = {cluster:String}',
    query_params: { cluster },
  });
}
