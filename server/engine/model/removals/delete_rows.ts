import { setTimeout as pause } from 'node:timers/promises';
import { onEachReplica } from '../../../platform/clickhouse/topology/caught_up.ts';
import type { ClickHouse } from '../../../platform/clickhouse/client.ts';

/** The tables of the analytics store that have rows of projects. */
export const row_tables = [
  'events',
  'persons',
  'session_removals',
  'group_removals',
  'tool_sends',
  'tool_exchanges',
] as const;

export type RowTable = (typeof row_tables)[number];

/** Rows of a table, by a condition with parameters. */
export type RowsWanted = {
  table: RowTable;
  condition: string;
  query_params: Record<string, unknown>;
};

// A small table is rewritten soon, but never before the first check.
const look_again_ms = { min: 50, max: 1_000 };

/** The tables in which an erasure records its subject. */
const noted_tables = ['erasing_ids', 'erasing_rows'];

/**
 * Asks the store to rewrite the parts that hold the rows, without them, and waits. Meanwhile it
 * calls `onWait` with the number of parts left. `asked`: the tables that the condition reads.
 * Throws if the store cannot do it. May be repeated.
 */
export async function deleteRows(
  clickhouse: ClickHouse,
  { table, condition, query_params }: RowsWanted,
  signal: AbortSignal,
  onWait: (parts: number) => Promise<unknown> = async () => undefined,
  asked: readonly string[] = noted_tables,
): Promise<void> {
  // If the store cannot complete an earlier request, no further one is sent.
  await partsToRewrite(clickhouse, table, signal);
  // Each replica evaluates the condition alone and must have the rows of the tables it reads.
  await onEachReplica(clickhouse, asked, async () => undefined);
  await clickhouse.command({
    query: `ALTER TABLE ${table} DELETE WHERE ${condition}`,
    query_params,
    clickhouse_settings: {
      mutations_sync: '0',
      // The condition may list many areas.
      max_query_size: '16000000',
      // Replicated stores otherwise refuse a condition that reads other tables.
      allow_nondeterministic_mutations: 1,
    },
    abort_signal: signal,
  });
  for (let wait_ms = look_again_ms.min; ; wait_ms = Math.min(2 * wait_ms, look_again_ms.max)) {
    await pause(wait_ms, undefined, { signal });
    const parts = await partsToRewrite(clickhouse, table, signal);
    if (parts === 0) return;
    await onWait(parts);
  }
}

/**
 * Counts the parts that the store, or its slowest replica, still has to rewrite before the rows are
 * gone; at least one until it has finished. Other rewrites (a background migration) do not count.
 * Throws with the store's reason if it cannot rewrite them.
 */
export async function partsToRewrite(
  clickhouse: ClickHouse,
  table: string,
  signal: AbortSignal,
): Promise<number> {
  const all = await onEachReplica(clickhouse, [], () =>
    partsToRewriteHere(clickhouse, table, signal),
  );
  return Math.max(0, ...all);
}

async function partsToRewriteHere(
  clickhouse: ClickHouse,
  table: string,
  abort_signal: AbortSignal,
): Promise<number> {
  const [row] = await clickhouse.rows<{
    open: number | string;
    parts: number | string;
    reason: string;
  }>({
    query: `SELECT count() AS open, sum(parts_to_do) AS parts, any(latest_fail_reason) AS reason
      FROM system.mutations
      WHERE database = currentDatabase() AND table = {table:String} AND NOT is_done
        AND command LIKE '%DELETE WHERE%'`,
    query_params: { table },
    abort_signal,
  });
  if (row?.reason) throw new Error(`The store cannot remove rows of ${table}: ${row.reason}`);
  return Math.max(Number(row?.open), Number(row?.parts));
}

/** Counts the rows in the table; uses a projection only on request. */
export async function countWhere(
  clickhouse: ClickHouse,
  { table, condition, query_params }: RowsWanted,
  abort_signal: AbortSignal,
  uses_projections = false,
): Promise<number> {
  const [row] = await clickhouse.rows<{ rows: number | string }>({
    query: `SELECT count() AS rows FROM ${table} WHERE ${condition}`,
    query_params,
    clickhouse_settings: { optimize_use_projections: uses_projections ? 1 : 0 },
    abort_signal,
  });
  return Number(row?.rows ?? 0);
}

/**
 * Counts the inactive parts with rows that the store still keeps for these tables, if they were
 * replaced before this instant. A store may keep rewritten parts for some minutes
 * (`old_parts_lifetime`) against a power loss.
 */
export async function countOldParts(
  clickhouse: ClickHouse,
  tables: readonly string[],
  until_ms: number,
  signal: AbortSignal,
): Promise<number> {
  const counts = await onEachReplica(clickhouse, [], () =>
    countOldPartsHere(clickhouse, tables, until_ms, signal),
  );
  return counts.reduce((sum, parts) => sum + parts, 0);
}

async function countOldPartsHere(
  clickhouse: ClickHouse,
  tables: readonly string[],
  until_ms: number,
  abort_signal: AbortSignal,
): Promise<number> {
  const [row] = await clickhouse.rows<{ parts: number | string }>({
    query: `SELECT count() AS parts FROM system.parts WHERE database = currentDatabase()
      AND table IN {tables:Array(String)} AND NOT active AND rows > 0
      AND remove_time <= fromUnixTimestamp({until:Int64})`,
    query_params: { tables: [...tables], until: Math.ceil(until_ms / 1_000) },
    abort_signal,
  });
  return Number(row?.parts ?? 0);
}
