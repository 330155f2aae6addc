import type { Readable } from 'node:stream';
import { RetryableError } from '../../model/destination/errors.ts';
import type { Delivery, Json, Slice, SliceOutcome } from '../../model/destination/destination.ts';
import { identifier, literal } from '../formats/expression.ts';
import { measured } from '../sql_tables/measured.ts';
import { recordsIn, requireCame } from '../sql_tables/staged_sink.ts';
import { stageLost, stagePrefix } from '../sql_tables/stages.ts';
import { compressionTo, inDatabase } from './config.ts';
import type { Connection } from './connection.ts';
import { listIntendedStages } from './receipts.ts';
import type { Session } from './session.ts';
import { createStage } from './stage.ts';
import { findTable, listTables, stage_column } from './table.ts';
import { counted } from '../../../platform/counted.ts';

/**
 * The state that finds a finished slice again: the stage named in its rows, and its size in bytes.
 */
type SliceState = { stage_id: string; slice_bytes: number };

/**
 * The place of an attempt; `stage.table` is its own table, from which rows are shown, and the
 * tables of its slices append their number to this name.
 */
type Place = Pick<Session, 'connection' | 'delivery' | 'stage'>;

/** Rows of one partition of a table. */
export type Partition = { id: string; records: number };

/**
 * Writes a slice to its own table, which outlives the attempt, and returns the state that finds it
 * again. Throws `slice_lost` if another attempt has claimed the delivery: then nobody else would
 * remove the table.
 */
export async function writeSlice(
  place: Session,
  slice: Slice,
  bytes: Readable,
): Promise<SliceState> {
  const { connection, delivery, stage } = place;
  const table = `${stage.table}_${slice.number}`;
  await createStage(connection, place.target!, delivery, { table, id: stage.id });
  let slice_bytes = 0;
  const counted = measured(bytes, (size) => (slice_bytes += size));
  await insertSlice(place, table, counted);
  const held = await countRows(connection, inDatabase(connection.config, table));
  requireCame(slice, held, `its table holds ${held}`);
  if ((await findTable(connection, stage.table)) === undefined) {
    await dropTable(connection, table);
    throw stageLost();
  }
  return { stage_id: stage.id, slice_bytes };
}

/** Inserts a slice into an empty table of the attempt, and returns the result of `insert`. */
export async function insertSlice(
  { connection, delivery }: Pick<Place, 'connection'> & { delivery: Pick<Delivery, 'columns'> },
  table: string,
  bytes: Readable,
): Promise<number> {
  const columns = delivery.columns.map((column) => identifier(column.name)).join(', ');
  return connection.insert(
    `INSERT INTO ${inDatabase(connection.config, table)} (${columns}) FORMAT TabSeparatedWithNames`,
    bytes,
    compressionTo(connection.config),
  );
}

/**
 * Renames the tables of an earlier attempt's finished slices, removes every other table of the
 * delivery, and returns the outcomes whose tables are complete. From here on, the earlier attempt
 * can show nothing: it no longer finds the slices to join, and its joined table is gone. The
 * attempt's stage becomes the one that the rows name.
 */
export async function takeSlicesOver(
  place: Place & Pick<Session, 'stages'>,
  outcomes: SliceOutcome[],
): Promise<SliceOutcome[]> {
  const { connection, delivery } = place;
  const states = outcomes.map((outcome) => stateOf(outcome));
  const stage_id = states.find((state) => state !== undefined)?.stage_id;
  const tables = stage_id === undefined ? [] : await listTables(connection, stagePrefix(delivery));
  const taken: SliceOutcome[] = [];
  for (const [index, outcome] of outcomes.entries()) {
    const from = tables.find((table) => table.endsWith(`_${outcome.number}`));
    const isSame =
      states[index]?.stage_id === stage_id && states[index]?.slice_bytes === outcome.bytes;
    if (
      from === undefined ||
      !isSame ||
      !(await isWhole(place, from, stage_id ?? '', outcome.records))
    )
      continue;
    await connection.command(
      `RENAME TABLE ${inDatabase(connection.config, from)} TO ` +
        inDatabase(connection.config, `${place.stage.table}_${outcome.number}`),
    );
    taken.push(outcome);
  }
  // After the renaming: this removes everything that an earlier attempt could join until then.
  await dropStages(place, taken, stage_id === undefined ? place.stages : undefined);
  if (stage_id === undefined || taken.length === 0) return [];
  if (await mayShowAgain(place, stage_id, recordsIn(outcomes))) {
    place.stage.id = stage_id;
    return taken;
  }
  await dropStages(place, []);
  return [];
}

/**
 * Joins the slices in the attempt's own stage, which can show them at once; nothing is copied.
 * Throws `slice_lost` if another attempt has claimed one.
 */
export async function joinSlices(
  { connection, stage }: Place,
  outcomes: SliceOutcome[],
): Promise<void> {
  const name = inDatabase(connection.config, stage.table);
  for (const { number } of outcomes) {
    const table = `${stage.table}_${number}`;
    await attach(connection, name, table, await partitionsOf(connection, table));
  }
}

/**
 * Returns the partitions of the attempt's own stage. Throws `count_mismatch` if it lacks rows. A
 * table without partitions is not queried if the server has reported the written rows.
 */
export async function wholeStage(
  { connection, stage, target, written }: Session,
  outcomes: SliceOutcome[],
): Promise<Partition[]> {
  const records = recordsIn(outcomes);
  if (records > 0 && written === records && !target!.engine_full.includes('PARTITION BY'))
    return [{ id: 'all', records }];
  const partitions = await partitionsOf(connection, stage.table);
  const held = sumOf(partitions);
  if (held === recordsIn(outcomes)) return partitions;
  throw new RetryableError(
    'count_mismatch',
    `The slices have ${counted(recordsIn(outcomes), 'row')}, but their tables hold ${held}; ` +
      'the delivery continues with the present rows.',
  );
}

function partitionsOf(connection: Connection, table: string): Promise<Partition[]> {
  return connection.rows<Partition>(
    `SELECT _partition_id AS id, count() AS records FROM ${inDatabase(connection.config, table)}
      GROUP BY id ORDER BY id`,
  );
}

/**
 * Links the parts of a table of the attempt into another one; the parts of one partition appear at
 * once. `target` is quoted.
 */
export async function attach(
  connection: Connection,
  target: string,
  table: string,
  partitions: Partition[],
): Promise<void> {
  const source = inDatabase(connection.config, table);
  const attachments = partitions.map(
    ({ id }) => `ATTACH PARTITION ID ${literal(id)} FROM ${source}`,
  );
  if (attachments.length > 0)
    await connection.command(`ALTER TABLE ${target} ${attachments.join(', ')}`);
}

/**
 * Removes all tables of the delivery's attempts except those of this attempt's kept slices. This
 * fences off an attempt that was believed dead: without its stage table, it can show nothing. SYNC
 * waits until nothing uses the table, so rows that it was showing at this moment are visible or not
 * when this returns, and that does not change.
 */
export async function dropStages(
  { connection, delivery, stage }: Place,
  kept: SliceOutcome[],
  listed?: string[],
): Promise<void> {
  const names = new Set(kept.map(({ number }) => `${stage.table}_${number}`));
  for (const table of listed ?? (await listTables(connection, stagePrefix(delivery))))
    if (!names.has(table)) await dropTable(connection, table);
}

/** Counts the rows of partitions. */
export function sumOf(partitions: Partition[]): number {
  return partitions.reduce((sum, { records }) => sum + records, 0);
}

/** Removes a table of an attempt, and waits until nothing uses it. */
export function dropTable(connection: Connection, table: string): Promise<void> {
  return connection.command(`DROP TABLE IF EXISTS ${inDatabase(connection.config, table)} SYNC`);
}

/** Counts the rows of a table, given by its quoted name. */
export async function countRows(connection: Connection, name: string): Promise<number> {
  const [row] = await connection.rows<{ records: number }>(
    `SELECT count() AS records FROM ${name}`,
  );
  return row?.records ?? 0;
}

function stateOf({ state }: SliceOutcome): SliceState | undefined {
  return isSliceState(state) ? state : undefined;
}

function isSliceState(state: Json): state is SliceState {
  return typeof state === 'object' && state !== null && 'stage_id' in state;
}

async function isWhole(
  { connection }: Place,
  table: string,
  stage_id: string,
  records: number,
): Promise<boolean> {
  const [found] = await connection.rows<{ records: number; own: number }>(
    `SELECT count() AS records, countIf(${identifier(stage_column)} = {stage_id:UUID}) AS own
      FROM ${inDatabase(connection.config, table)}`,
    { stage_id },
  );
  return found?.records === records && found.own === records;
}

/**
 * Returns false if a killed server has shown a part of these very parts: after their removal, a
 * replicated table would treat them as duplicates. All slices are known if an attempt was about to
 * show them.
 */
async function mayShowAgain(
  { connection, delivery }: Place,
  stage_id: string,
  records: number,
): Promise<boolean> {
  if (!(await listIntendedStages(connection, delivery)).includes(stage_id)) return true;
  const [row] = await connection.rows<{ records: number }>(
    `SELECT count() AS records FROM ${connection.target.quoted}
      WHERE ${identifier(stage_column)} = {stage_id:UUID}`,
    { stage_id },
  );
  return row?.records === 0 || row?.records === records;
}
