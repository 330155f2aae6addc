import { ClickHouseError } from '@clickhouse/client';
import type { ClickHouse } from '../clickhouse/client.ts';
import type { BackgroundMigration } from './files.ts';

type Asked = Pick<BackgroundMigration, 'table_name' | 'statement'>;

/** What the store makes of a partition: a mutation, which outlives kills of the store. */
export type FoundMutation = {
  mutation_id: string;
  is_done: boolean;
  parts_to_do: number;
  reason: string;
};

/** A partition with what it holds. */
export type FoundPartition = { partition: string; rows: number; bytes: number; parts: number };

/** The partitions of the table that have rows, by their ids. */
export async function partitionsOf(
  clickhouse: ClickHouse,
  table: string,
  abort_signal?: AbortSignal,
): Promise<FoundPartition[]> {
  const result = await clickhouse.query({
    query: `SELECT partition_id AS partition, toInt64(sum(part.rows)) AS rows,
        toInt64(sum(bytes_on_disk)) AS bytes, toInt32(count()) AS parts
      FROM system.parts AS part WHERE database = currentDatabase() AND table = {table:String}
        AND active AND part.rows > 0 GROUP BY partition_id ORDER BY partition_id`,
    query_params: { table },
    format: 'JSONEachRow',
    ...(abort_signal === undefined ? {} : { abort_signal }),
  });
  return result.json<FoundPartition>();
}

/** The store's own instant, as ISO 8601 text. */
export async function storeInstant(
  clickhouse: ClickHouse,
  abort_signal: AbortSignal,
): Promise<string> {
  const result = await clickhouse.query({
    query: "SELECT formatDateTime(now('UTC'), '%Y-%m-%dT%H:%i:%SZ') AS instant",
    format: 'JSONEachRow',
    abort_signal,
  });
  const [row] = await result.json<{ instant: string }>();
  return row!.instant;
}

/**
 * Asks the store to begin with a partition, and does not wait for it. Gives why it refuses, as the
 * store says it; undefined when it does not.
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

/** Takes a mutation back: as long as it fails, those after it wait. */
export async function killMutation(
  clickhouse: ClickHouse,
  { table_name }: Asked,
  mutation_id: string,
): Promise<void> {
  await clickhouse.command({
    query: `KILL MUTATION WHERE database = currentDatabase() AND table = {table:String}
      AND mutation_id = {mutation_id:String} SYNC`,
    query_params: { table: table_name, mutation_id },
  });
}

/**
 * What has become of the mutation of a partition that was asked for since an instant; undefined
 * where the store knows of none.
 */
export async function askedMutation(
  clickhouse: ClickHouse,
  { table_name, statement }: Asked,
  partition: string,
  since: string,
  abort_signal: AbortSignal,
): Promise<FoundMutation | undefined> {
  const result = await clickhouse.query({
    query: `SELECT mutation_id, command, is_done, toInt32(parts_to_do) AS parts_to_do,
        latest_fail_reason AS reason
      FROM system.mutations WHERE database = currentDatabase() AND table = {table:String}
        AND create_time >= fromUnixTimestamp({since:Int64}) AND NOT is_killed
      ORDER BY create_time DESC, mutation_id DESC`,
    query_params: { table: table_name, since: Math.floor(Date.parse(since) / 1_000) },
    format: 'JSONEachRow',
    abort_signal,
  });
  const rows = await result.json<{
    mutation_id: string;
    command: string;
    is_done: number;
    parts_to_do: number;
    reason: string;
  }>();
  const wanted = plainOf(statementFor(statement, partition).replace(/^ALTER TABLE \w+ /, ''));
  const found = rows.find(({ command }) => plainOf(command) === wanted);
  return (
    found && {
      mutation_id: found.mutation_id,
      is_done: found.is_done === 1,
      parts_to_do: found.parts_to_do,
      reason: found.reason,
    }
  );
}

/**
 * The store writes the command in its own spelling: its spaces, brackets and quotes say nothing.
 */
function plainOf(command: string): string {
  return command.replaceAll(/[\s()`;]/g, '').toLowerCase();
}

function statementFor(statement: string, partition: string): string {
  if (!/^[\w-]+$/.test(partition)) throw new Error(`${partition} is no id of a partition.`);
  return statement.replaceAll('{partition}', `'${partition}'`);
}
