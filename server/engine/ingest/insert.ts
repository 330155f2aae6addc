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

/**
 * The end of a batch's insert: all rows are stored and on disk, none is, or the store could not be
 * asked.
 */
export type InsertOutcome = 'stored' | 'absent' | 'unknown';

/** The tables that ingestion writes. */
export type IngestionTable = 'events' | 'persons';

// Size of a chunk: longer texts cost more to join and to turn into bytes.
const chunk_bytes = 128 * 1024;
/** Time limit for counting the rows of a batch after the store has ended it. */
const count_ms_max = 30_000;
/** The project of the rows that take the token of a batch; no real one has this number. */
export const nobody = 0;
/** A row to insert; `written` are members of it that are JSON already. */
export type BatchRow = { written?: Uint8Array | undefined; event?: string; properties?: string };

/**
 * Columns that an insert names where no event of the batch has a group, or a session: they stay
 * empty. To make them of each event, the store would read and plan their expressions for every
 * insert, half of its work for one row.
 */
const group_columns = ['group_id', 'group_at', 'group_number', 'group_set'];
const session_columns = ['session_id'];
const stored_columns = [
  'team_id',
  'uuid',
  'event',
  'distinct_id',
  'person_id',
  'properties',
  'person_properties',
  'elements_chain',
  'timestamp',
  'created_at',
  'inserted_at',
];
const leave_empty = {
  insert_allow_materialized_columns: 1,
  input_format_defaults_for_omitted_fields: 0,
} as const;
const session_key = '$session_id';

/**
 * Rows up to which the indexes of skipped granules are left to merges. So few rows are one granule,
 * so an index skips nothing, and two files less wait for the disk.
 */
const granule_rows = 1_024;

/**
 * One insert of a batch: `rows` lie in one project with one `inserted_at`, by which they are found
 * again; `stamp` is what each of them has besides. `ends_at` is on the scale of
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
 * Inserts the rows as one block, all or nothing, and says what became of it. An insert that is not
 * done by `ends_at` is waited for no longer; after any failure the store is asked whether the rows
 * are there, once it has let go of the batch. Never throws for a failure of the store.
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
 * Has the store let go of a batch that nobody waits for any more. True when nothing more of it can
 * appear in these tables: one node has ended what it did for it; of replicas, of which some may not
 * be asked, its token was taken, so that an insert of it that comes now is a repetition.
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
 * Takes the token of a batch by a row of no project, unless the batch itself has it. The replica
 * must know the batch if there is one, because two different blocks of one token are no repetition
 * to it.
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
      // A majority may be back in a moment.
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
  if (milliseconds <= 0) throw new Error('The time of the batch was over before it was sent.');
  const late = AbortSignal.timeout(Math.ceil(milliseconds));
  const empty = batch.table === 'events' ? emptyColumns(batch.rows) : [];
  const columns = empty.length === 0 ? '' : ` (${[...stored_columns, ...empty].join(', ')})`;
  const answered = async () => {
    const { stream } = await clickhouse.exec({
      query: `INSERT INTO ${batch.table}${columns} FORMAT JSONEachRow`,
      query_id,
      values: Readable.from(jsonLines(batch), { objectMode: false }),
      ...(clickhouse.mode.kind === 'one_node' ? { abort_signal: late } : {}),
      clickhouse_settings: {
        ...batchSettings(clickhouse.mode, { token: batch.batch_id, milliseconds }),
        ...(empty.length === 0 ? {} : leave_empty),
        ...(batch.rows.length <= granule_rows ? { materialize_skip_indexes_on_insert: 0 } : {}),
      },
    });
    // The store answers an insert with nothing, but only a clean end of that nothing is a yes.
    await finished(stream.resume());
  };
  await orLate(answered(), late);
}

/** The computed columns that are empty in all rows, as far as that can be told at once. */
function emptyColumns(rows: BatchRow[]): string[] {
  return [
    ...(rows.some(({ event }) => event === '$groupidentify') ? [] : group_columns),
    ...(rows.some(mayHaveSession) ? [] : session_columns),
  ];
}

/** JSON escapes none of the key's letters, so its bytes are there as they are in the text. */
function mayHaveSession({ properties, written }: BatchRow): boolean {
  return written === undefined
    ? properties?.includes(session_key) === true
    : Buffer.from(written.buffer, written.byteOffset, written.length).includes(session_key);
}

/** The rows as lines of JSON; others get their turn on the event loop between them. */
async function* jsonLines<Row extends BatchRow>({
  rows,
  stamp,
}: BatchInsert<Row>): AsyncGenerator<Uint8Array> {
  const turn = openTurns();
  // The same behind each row, and so made once.
  const end = `,${JSON.stringify(stamp).slice(1)}\n`;
  let text = '';
  for (const row of rows) {
    const { written } = row;
    if (written === undefined) text += `${JSON.stringify(row).slice(0, -1)}${end}`;
    else {
      const others = JSON.stringify({ ...row, written: undefined });
      yield Buffer.from(`${text}${others.slice(0, -1)},`);
      yield written;
      text = end;
    }
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
