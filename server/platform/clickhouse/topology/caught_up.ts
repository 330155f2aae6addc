import { batchCalls } from '../../pacing/batched_calls.ts';
import { StoreAwayError } from '../../store_away.ts';
import type { ClickHouse } from '../client.ts';
import { replicasOf } from './require_everywhere.ts';

/** Time limit for a replica to fetch the others' data; then the next replica is tried. */
const sync_seconds_max = 5;

/**
 * Runs work whose answer decides something on one replica that has everything acknowledged before
 * the call, from the first request to the last. If that replica is lost meanwhile, the work fails
 * and must restart. On one node, the work simply runs.
 */
export async function caughtUp<Result>(
  clickhouse: ClickHouse,
  tables: readonly string[],
  work: () => Promise<Result>,
): Promise<Result> {
  const { kind } = clickhouse.mode;
  // In the cloud, each read requests the newest state: there is one storage.
  if (kind === 'one_node' || kind === 'cloud') return work();
  return clickhouse.onOne((replica) => requireSynced(replica, { clickhouse, tables }), work);
}

/**
 * Does the same for a request that waits for an answer, which shows everything acknowledged before.
 * Throws `StoreAwayError` if no replica catches up in time.
 */
export async function caughtUpForAnswer<Result>(
  clickhouse: ClickHouse,
  tables: readonly string[],
  work: () => Promise<Result>,
): Promise<Result> {
  let is_ready = false;
  const begun = () => {
    is_ready = true;
    return work();
  };
  try {
    return await caughtUp(clickhouse, tables, begun);
  } catch (error) {
    if (is_ready) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new StoreAwayError(`No replica of the analytics store has caught up: ${reason}`);
  }
}

/**
 * Runs the work on every replica, each of which has caught up. Throws if one is unreachable, or is
 * missing in the settings: removed data must be gone on all.
 */
export async function onEachReplica<Result>(
  clickhouse: ClickHouse,
  tables: readonly string[],
  work: () => Promise<Result>,
): Promise<Result[]> {
  const { mode } = clickhouse;
  if (mode.kind === 'one_node' || mode.kind === 'cloud') return [await work()];
  const { length } = await replicasOf(clickhouse, mode.cluster);
  if (length > clickhouse.addresses)
    throw new Error(
      `The cluster ${mode.cluster} has ${length} replicas, and SLUICE_CLICKHOUSE_URL names ` +
        `${clickhouse.addresses}. Name each of them, so that each can be asked.`,
    );
  return clickhouse.onEach((replica) => requireSynced(replica, { clickhouse, tables }), work);
}

async function requireSynced(replica: object, wanted: Wanted): Promise<void> {
  const { error } = await sync(replica, wanted);
  if (error !== undefined) throw error;
}

type Wanted = { clickhouse: ClickHouse; tables: readonly string[] };

// A replica that has caught up after several calls began has caught up for each of them.
const sync = batchCalls<object, Wanted, { error?: Error }>({
  together: async (_replica, calls) => {
    const outcome = await syncTables(calls[0]!.clickhouse, [
      ...new Set(calls.flatMap(({ tables }) => tables)),
    ]);
    return calls.map(() => outcome);
  },
  alone: (_replica, { clickhouse, tables }) => syncTables(clickhouse, tables),
});

async function syncTables(
  clickhouse: ClickHouse,
  tables: readonly string[],
): Promise<{ error?: Error }> {
  try {
    for (const table of tables)
      await clickhouse.command({
        query: `SYSTEM SYNC REPLICA ${table} LIGHTWEIGHT`,
        clickhouse_settings: { receive_timeout: sync_seconds_max },
      });
    return {};
  } catch (error) {
    return { error: error as Error };
  }
}
