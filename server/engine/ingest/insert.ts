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

/**
 * How an insert of a batch ended: all rows are stored and on disk, none is, or the store could not
 * be asked.
 */
export type InsertOutcome = 'stored' | 'absent' | 'unknown';

/** The tables that ingestion writes. */
export type IngestionTable = 'events' | 'persons';

// What is handed on at once: longer texts cost more to put together and to turn into bytes.
const chunk_bytes = 128 * 1024;
// How long the store is asked after an insert that failed, in milliseconds and at most.
const inquiry_ms_max = 3_000;
const inquiry_pause_ms = 50;
// Asked again after a pause, because a statement that was sent just before its sender died may not
// have begun yet.
const quiet_answers_min = 3;
/** The project of the rows that take the token of a batch; no real one has this number. */
export const nobody = 0;
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

async function endBatch(clickhouse: ClickHouse, batchId: string): Promise<boolean> {
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
  query_id = `${batch.batch_id}-${batch.table}`,
): Promise<void> {
  const milliseconds = batch.ends_at - performance.now();
  if (milliseconds <= 0) throw new Error('The time of the batch was over before it was sent.');
  const late = AbortSignal.timeout(Math.ceil(milliseconds));
  const is_ended_late = clickhouse.mode.kind === 'one_node';
  const answered = async () => {
    const { stream } = await clickhouse.exec({
      query: `INSERT INTO ${batch.table} FORMAT JSONEachRow`,
      query_id,
      values: Readable.from(jsonLines(batch), { objectMode: false }),
      ...(is_ended_late ? { abort_signal: late } : {}),
      clickhouse_settings: batchSettings(clickhouse.mode, { token: batch.batch_id, milliseconds }),
    });
    // The store answers an insert with nothing, but only a clean end of that nothing is a yes.
    await finished(stream.resume());
  };
  await (is_ended_late ? answered() : orLate(answered(), late));
}

/** Waits no longer than this for what goes on by itself. */
async function orLate(work: Promise<void>, late: AbortSignal): Promise<void> {
  work.catch(() => undefined);
  const { promise, reject } = Promise.withResolvers<never>();
  const tell = () => reject(new Error('The store did not take the batch in time.'));
  late.addEventListener('abort', tell, { once: true });
  await Promise.race([work, promise]).finally(() => late.removeEventListener('abort', tell));
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
    const rows = await caughtUp(clickhouse, [batch.table], () => countBatch(clickhouse, batch));
    if (rows === batch.rows.length) return 'stored';
    return rows === 0 ? 'absent' : 'unknown';
  } catch {
    return 'unknown';
  }
}

async function countBatch(
  clickhouse: ClickHouse,
  { table, team_id, inserted_at }: { table: IngestionTable; team_id: number; inserted_at: string },
): Promise<number> {
  const found = await clickhouse.rows<{ rows: number }>({
    query: `SELECT count() AS rows FROM ${table} WHERE team_id = {team_id:Int64}
        AND inserted_at = {at:DateTime64(6, 'UTC')}`,
    query_params: { team_id, at: inserted_at },
  });
  return Number(found[0]?.rows);
}

async function isRunning(clickhouse: ClickHouse, batchId: string): Promise<boolean> {
  const found = await clickhouse.rows<{ running: number }>({
    query: `SELECT count() AS running FROM system.processes WHERE ${isOfBatch}`,
    query_params: { batch: batchId },
  });
  return Number(found[0]?.running) > 0;
}
