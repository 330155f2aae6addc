import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import type { ClickHouse } from '../../platform/clickhouse/client.ts';
import { caughtUp } from '../../platform/clickhouse/topology/caught_up.ts';
import {
  batchSettings,
  quorum_seconds,
} from '../../platform/clickhouse/topology/request_settings.ts';
import { openTurns } from '../../platform/pacing/turns.ts';
import { endBatch, inquiry_pause_ms, orLate } from './end_batch.ts';
import { tabField } from './tab_field.ts';

/**
 * The end of a batch's insert: all rows are stored and on disk, none is, or the store could not be
 * asked.
 */
export type InsertOutcome = 'stored' | 'absent' | 'unknown';

/** The tables that ingestion writes. */
export type IngestionTable = 'events' | 'persons';

// Size of a chunk: longer texts take longer to join and to encode.
const chunk_bytes = 128 * 1024;
/** Time limit for counting the rows of a batch after the store has ended its work on it. */
const count_ms_max = 30_000;
/** The project number of rows that take the token of a batch; no real project has it. */
export const nobody = 0;
/** A row to insert: texts and numbers. `written` has the fields of its last columns as bytes. */
export type BatchRow = {
  written?: Uint8Array | undefined;
  event?: string;
  properties?: string | undefined;
};

/**
 * Columns of an insert whose events have no group or no session: they stay empty. Otherwise the
 * store would parse and plan their expressions for every insert, which is half of its work for one
 * row.
 */
const group_columns = ['group_id', 'group_at', 'group_number', 'group_set'];
const session_columns = ['session_id'];
const leave_empty = {
  insert_allow_materialized_columns: 1,
  input_format_defaults_for_omitted_fields: 0,
} as const;
const session_key = '$session_id';

/**
 * Rows up to which the skipping indexes are left to merges. So few rows are one granule, so an
 * index skips nothing, and the disk writes two files less.
 */
const granule_rows = 1_024;

/**
 * One insert of a batch: `rows` belong to one project and share one `inserted_at`, which finds them
 * again; `stamp` holds further members of each row. `ends_at` is on the scale of
 * `performance.now()`.
 */
export type BatchInsert<Row extends BatchRow> = {
  table: IngestionTable;
  batch_id: string;
  team_id: number;
  inserted_at: string;
  rows: Row[];
  stamp: object;
  ends_at: number;
};

/**
 * Inserts the rows as one block, all or nothing, and returns the outcome. It stops waiting at
 * `ends_at`. After any failure, it first makes the store end its work on the batch and then asks
 * whether the rows are there. Never throws for a failure of the store.
 */
export async function insertBatch<Row extends BatchRow>(
  clickhouse: ClickHouse,
  batch: BatchInsert<Row>,
): Promise<{ outcome: InsertOutcome; error?: unknown }> {
  try {
    await send(clickhouse, batch);
    return { outcome: 'stored' };
  } catch (error) {
    return { outcome: await inquire(clickhouse, batch), error };
  }
}

/**
 * Makes the store end its work on an abandoned batch. Returns true if no more rows of it can appear
 * in these tables. One node has ended its work. Of replicas, which cannot all be asked, the token
 * of the batch is taken, so that a later insert counts as a repetition.
 */
export async function letGo(
  clickhouse: ClickHouse,
  batch: { batch_id: string; inserted_at: string },
  tables: readonly IngestionTable[],
): Promise<boolean> {
  if (clickhouse.mode.kind === 'one_node') return endBatch(clickhouse, batch.batch_id);
  for (const table of tables) if (!(await takeToken(clickhouse, batch, table))) return false;
  return true;
}

/**
 * Takes the token of a batch with a row of no project, unless the batch itself has it. The replica
 * must already know an existing batch, because two different blocks with one token do not count as
 * a repetition.
 */
async function takeToken(
  clickhouse: ClickHouse,
  { batch_id, inserted_at }: { batch_id: string; inserted_at: string },
  table: IngestionTable,
): Promise<boolean> {
  const ends_at = performance.now() + quorum_seconds * 1_000;
  const rows: (BatchRow & { team_id: number })[] = [{ team_id: nobody }];
  const taking = { table, batch_id, team_id: nobody, inserted_at, rows, stamp: { inserted_at } };
  while (performance.now() < ends_at) {
    try {
      await caughtUp(clickhouse, [table], () =>
        send(clickhouse, { ...taking, ends_at }, `${batch_id}-${randomUUID()}`),
      );
      return true;
    } catch {
      // A majority may soon be back.
      await new Promise((resume) => setTimeout(resume, inquiry_pause_ms));
    }
  }
  return false;
}

async function send<Row extends BatchRow>(
  clickhouse: ClickHouse,
  batch: BatchInsert<Row>,
  query_id = `${batch.batch_id}-${batch.table}`,
): Promise<void> {
  const milliseconds = batch.ends_at - performance.now();
  if (milliseconds <= 0) throw new Error('The batch timed out before Sluice sent it.');
  const late = AbortSignal.timeout(Math.ceil(milliseconds));
  const empty = batch.table === 'events' ? emptyColumns(batch.rows) : [];
  const names = [...fieldNames(batch), ...Object.keys(batch.stamp), ...empty];
  const answered = async () => {
    const { stream } = await clickhouse.exec({
      query: `INSERT INTO ${batch.table} (${names.join(', ')}) FORMAT TabSeparatedWithNames`,
      query_id,
      values: Readable.from(tabLines(batch), { objectMode: false }),
      ...(clickhouse.mode.kind === 'one_node' ? { abort_signal: late } : {}),
      clickhouse_settings: {
        ...batchSettings(clickhouse.mode, { token: batch.batch_id, milliseconds }),
        ...(empty.length === 0 ? {} : leave_empty),
        ...(batch.rows.length <= granule_rows ? { materialize_skip_indexes_on_insert: 0 } : {}),
      },
    });
    // The store answers an insert with an empty body, and only its clean end confirms the insert.
    await finished(stream.resume());
  };
  await orLate(answered(), late);
}

/** Returns the computed columns that are empty in all rows, as far as a quick check shows it. */
function emptyColumns(rows: BatchRow[]): string[] {
  return [
    ...(rows.some(({ event }) => event === '$groupidentify') ? [] : group_columns),
    ...(rows.some(mayHaveSession) ? [] : session_columns),
  ];
}

/** No form escapes the key's letters, so its bytes appear as in the text. */
function mayHaveSession({ properties, written }: BatchRow): boolean {
  return written === undefined
    ? properties?.includes(session_key) === true
    : Buffer.from(written.buffer, written.byteOffset, written.length).includes(session_key);
}

/** Returns the columns that each row has; all rows have the same ones in the same order. */
function fieldNames({ rows }: { rows: BatchRow[] }): string[] {
  return Object.keys(rows[0]!).filter((name) => name !== 'written');
}

/**
 * Yields the rows as tab-separated text below the names of their columns, and yields to the event
 * loop between them. JSON would escape each quotation mark of `properties`, and the store would
 * find the column of each name.
 */
async function* tabLines<Row extends BatchRow>(
  batch: BatchInsert<Row>,
): AsyncGenerator<Uint8Array> {
  const turn = openTurns();
  const names = fieldNames(batch);
  const end = `${Object.values(batch.stamp).join('\t')}\n`;
  let text = `${[...names, ...Object.keys(batch.stamp)].join('\t')}\n`;
  for (const row of batch.rows) {
    for (const name of names) {
      const value = (row as { [name: string]: unknown })[name] as string | number | undefined;
      if (value !== undefined) text += `${typeof value === 'string' ? tabField(value) : value}\t`;
    }
    if (row.written !== undefined) {
      yield Buffer.from(text);
      yield row.written;
      text = '\t';
    }
    text += end;
    if (text.length >= chunk_bytes) {
      yield Buffer.from(text);
      text = '';
    }
    const pause = turn();
    if (pause !== undefined) await pause;
  }
  if (text !== '') yield Buffer.from(text);
}

async function inquire<Row extends BatchRow>(
  clickhouse: ClickHouse,
  batch: BatchInsert<Row>,
): Promise<InsertOutcome> {
  if (!(await letGo(clickhouse, batch, [batch.table]))) return 'unknown';
  try {
    const late = AbortSignal.timeout(count_ms_max);
    const rows = await caughtUp(clickhouse, [batch.table], () =>
      orLate(countBatch(clickhouse, batch, late), late),
    );
    if (rows === batch.rows.length) return 'stored';
    return rows === 0 ? 'absent' : 'unknown';
  } catch {
    return 'unknown';
  }
}

async function countBatch(
  clickhouse: ClickHouse,
  { table, team_id, inserted_at }: { table: IngestionTable; team_id: number; inserted_at: string },
  abort_signal: AbortSignal,
): Promise<number> {
  const found = await clickhouse.rows<{ rows: number }>({
    query: `SELECT count() AS rows FROM ${table} WHERE team_id = {team_id:Int64}
        AND inserted_at = {at:DateTime64(6, 'UTC')}`,
    query_params: { team_id, at: inserted_at },
    abort_signal,
  });
  return Number(found[0]?.rows);
}
