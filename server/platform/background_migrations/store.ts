import { ClickHouseError } from '@clickhouse/client';
import type { ClickHouse } from '../clickhouse/client.ts';
import { onEachReplica } from '../clickhouse/topology/caught_up.ts';
import type { BackgroundMigration } from './files.ts';

type Asked = Pick<BackgroundMigration, 'table_name' | 'statement'>;

/**
 * A partition's mutation in the store, which survives kills of the store. Each replica carries it
 * out separately: the mutation is done when all replicas have finished, and `parts_to_do` comes
 * from the replica with the most.
 */
export type FoundMutation = {
  is_done: boolean;
  parts_to_do: number;
  reason: string;
};

/** A partition with its contents. */
export type FoundPartition = { partition: string; rows: number; bytes: number; parts: number };

/** Returns the ids of the table's partitions that have rows. */
export async function partitionsOf(
  clickhouse: ClickHouse,
  table: string,
  abort_signal?: AbortSignal,
): Promise<FoundPartition[]> {
  return clickhouse.rows<FoundPartition>({
    query: `SELECT partition_id AS partition, toInt64(sum(part.rows)) AS rows,
        toInt64(sum(bytes_on_disk)) AS bytes, toInt32(count()) AS parts
      FROM system.parts AS part WHERE database = currentDatabase() AND table = {table:String}
        AND active AND part.rows > 0 GROUP BY partition_id ORDER BY partition_id`,
    query_params: { table },
    ...(abort_signal === undefined ? {} : { abort_signal }),
  });
}

/** Returns the store's own instant, as ISO 8601 text; with replicas, that of the slowest clock. */
export async function storeInstant(
  clickhouse: ClickHouse,
  abort_signal: AbortSignal,
): Promise<string> {
  const all = await onEachReplica(clickhouse, [], async () => {
    const [row] = await clickhouse.rows<{ instant: string }>({
      query: "SELECT formatDateTime(now('UTC'), '%Y-%m-%dT%H:%i:%SZ') AS instant",
      abort_signal,
    });
    return row!.instant;
  });
  return all.toSorted()[0]!;
}

/**
 * Asks the store to start a partition, without waiting for it. Returns the store's reason for a
 * refusal; undefined if it accepts.
 */
export async function openMutation(
  clickhouse: ClickHouse,
  { statement }: Asked,
  partition: string,
  abort_signal: AbortSignal,
): Promise<string | undefined> {
  try {
    await clickhouse.command({
      query: statementFor(statement, partition),
      clickhouse_settings: { mutations_sync: '0' },
      abort_signal,
    });
    return undefined;
  } catch (error) {
    if (error instanceof ClickHouseError) return error.message;
    throw error;
  }
}

/** A mutation of a partition that was requested since an instant. */
export type AskedMutation = Asked & { partition: string; since: string };

/** Kills a mutation on every replica: while it fails, later ones wait. */
export async function killMutation(
  clickhouse: ClickHouse,
  asked: AskedMutation,
  abort_signal: AbortSignal,
): Promise<void> {
  await onEachReplica(clickhouse, [], async () => {
    const found = await mutationHere(clickhouse, asked, abort_signal);
    // The first replica to get the request kills it on the others too.
    if (found === undefined || found.is_done === 1) return;
    await clickhouse.command({
      query: `KILL MUTATION WHERE database = currentDatabase() AND table = {table:String}
        AND mutation_id = {mutation_id:String} SYNC`,
      query_params: { table: asked.table_name, mutation_id: found.mutation_id },
    });
  });
}

/**
 * Returns the state of the mutation, or undefined if the store has none. Asks each replica, because
 * one may not know it yet. Throws if a replica is unreachable.
 */
export async function askedMutation(
  clickhouse: ClickHouse,
  asked: AskedMutation,
  abort_signal: AbortSignal,
): Promise<FoundMutation | undefined> {
  const all = await onEachReplica(clickhouse, [], async () => ({
    found: await mutationHere(clickhouse, asked, abort_signal),
  }));
  const known = all.flatMap(({ found }) => found ?? []);
  if (known.length === 0) return undefined;
  return {
    is_done: known.length === all.length && known.every(({ is_done }) => is_done === 1),
    parts_to_do: Math.max(...known.map(({ parts_to_do }) => parts_to_do)),
    reason: known.find(({ is_done, reason }) => is_done === 0 && reason !== '')?.reason ?? '',
  };
}

type MutationRow = {
  mutation_id: string;
  command: string;
  is_done: number;
  parts_to_do: number;
  reason: string;
};

async function mutationHere(
  clickhouse: ClickHouse,
  { table_name, statement, partition, since }: AskedMutation,
  abort_signal: AbortSignal,
): Promise<MutationRow | undefined> {
  const rows = await clickhouse.rows<MutationRow>({
    query: `SELECT mutation_id, command, is_done, toInt32(parts_to_do) AS parts_to_do,
        latest_fail_reason AS reason
      FROM system.mutations WHERE database = currentDatabase() AND table = {table:String}
        AND create_time >= fromUnixTimestamp({since:Int64}) AND NOT is_killed
      ORDER BY create_time DESC, mutation_id DESC`,
    query_params: { table: table_name, since: Math.floor(Date.parse(since) / 1_000) },
    abort_signal,
  });
  const wanted = plainOf(statementFor(statement, partition).replace(/^ALTER TABLE \w+ /, ''));
  return rows.find(({ command }) => plainOf(command) === wanted);
}

/** Ignores the store's own spaces, brackets and quotes in the command. */
function plainOf(command: string): string {
  return command.replaceAll(/[\s()`;]/g, '').toLowerCase();
}

function statementFor(statement: string, partition: string): string {
  if (!/^[\w-]+$/.test(partition)) throw new Error(`${partition} is no id of a partition.`);
  return statement.replaceAll('{partition}', `'${partition}'`);
}
