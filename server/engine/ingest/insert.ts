import { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import type { ClickHouse } from '../../platform/clickhouse/client.ts';
import { openTurns } from '../../platform/turns.ts';

/**
 * How an insert of a batch ended: all rows are stored and on disk, none is, or the store could not
 * be asked.
 */
export type InsertOutcome = 'stored' | 'absent' | 'unknown';

/** The tables that ingestion writes. */
export type IngestionTable = 'events' | 'persons';

const chunk_bytes = 1024 * 1024;
// How long the store is asked after an insert that failed, in milliseconds and at most.
const inquiry_ms_max = 3_000;
const inquiry_pause_ms = 50;
// Asked again after a pause, because a statement that was sent just before its sender died may not
// have begun yet.
const quiet_answers_min = 3;
// A server shows the id that the client gave; the embedded store keeps it in `log_comment`.
const isOfBatch =
  "(startsWith(query_id, {batch:String}) OR startsWith(Settings['log_comment'], {batch:String}))";

/** A row to insert; `written` are members of it that are JSON already. */
export type BatchRow = { written?: Uint8Array | undefined };

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
 * done by `ends_at` is killed; after any failure the store is asked whether the rows are there,
 * once it no longer works on them. Never throws for a failure of the store.
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
 * Ends what the store may still do for a batch that nobody waits for any more. True when nothing of
 * it is running and so nothing of it can appear any more.
 */
export async function endBatch(clickhouse: ClickHouse, batchId: string): Promise<boolean> {
  const deadline = performance.now() + inquiry_ms_max;
  let quiet = 0;
  for (;;) {
    try {
      quiet = (await isRunning(clickhouse, batchId)) ? 0 : quiet + 1;
      if (quiet === quiet_answers_min) return true;
      if (quiet === 0)
        await clickhouse.command({
          query: `KILL QUERY WHERE ${isOfBatch} ASYNC`,
          query_params: { batch: batchId },
        });
    } catch {
      // The store may be restarting; it is asked again until the deadline.
    }
    if (performance.now() > deadline) return false;
    await new Promise((resume) => setTimeout(resume, inquiry_pause_ms));
  }
}

async function send<Row extends BatchRow>(
  clickhouse: ClickHouse,
  batch: BatchInsert<Row>,
): Promise<void> {
  const milliseconds = batch.ends_at - performance.now();
  if (milliseconds <= 0) throw new Error('The time of the batch was over before it was sent.');
  const { stream } = await clickhouse.exec({
    query: `INSERT INTO ${batch.table} FORMAT JSONEachRow`,
    query_id: `${batch.batch_id}-${batch.table}`,
    values: Readable.from(jsonLines(batch), { objectMode: false }),
    abort_signal: AbortSignal.timeout(Math.ceil(milliseconds)),
    clickhouse_settings: {
      async_insert: 0,
      max_execution_time: milliseconds / 1_000,
      // One parser and no cutting: the whole batch is one block and so one part, which appears or
      // does not.
      input_format_parallel_parsing: 0,
      max_insert_block_size: '1048576',
      min_insert_block_size_rows: '1048576',
      min_insert_block_size_bytes: '1073741824',
    },
  });
  // The store answers an insert with nothing, but only a clean end of that nothing is a yes.
  await finished(stream.resume());
}

/** The rows as lines of JSON; others get their turn on the event loop between them. */
async function* jsonLines<Row extends BatchRow>({
  rows,
  stamp,
}: BatchInsert<Row>): AsyncGenerator<Uint8Array> {
  const turn = openTurns();
  let text = '';
  for (const row of rows) {
    const { written } = row;
    if (written === undefined) text += `${JSON.stringify({ ...row, ...stamp })}\n`;
    else {
      const others = JSON.stringify({ ...row, ...stamp, written: undefined });
      yield Buffer.from(`${text}${others.slice(0, -1)},`);
      yield written;
      text = '}\n';
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
  if (!(await endBatch(clickhouse, batch.batch_id))) return 'unknown';
  try {
    const found = await clickhouse.query({
      query: `SELECT count() AS rows FROM ${batch.table} WHERE team_id = {team_id:Int64}
        AND inserted_at = {at:DateTime64(6, 'UTC')}`,
      query_params: { team_id: batch.team_id, at: batch.inserted_at },
      format: 'JSONEachRow',
    });
    const rows = Number((await found.json<{ rows: number }>())[0]?.rows);
    if (rows === batch.rows.length) return 'stored';
    return rows === 0 ? 'absent' : 'unknown';
  } catch {
    return 'unknown';
  }
}

async function isRunning(clickhouse: ClickHouse, batchId: string): Promise<boolean> {
  const found = await clickhouse.query({
    query: `SELECT count() AS running FROM system.processes WHERE ${isOfBatch}`,
    query_params: { batch: batchId },
    format: 'JSONEachRow',
  });
  return Number((await found.json<{ running: number }>())[0]?.running) > 0;
}
