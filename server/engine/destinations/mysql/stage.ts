import type { Readable } from 'node:stream';
import type { Delivery, SliceOutcome } from '../../model/destination/destination.ts';
import { isMerged } from '../sql_tables/layout.ts';
import { measured } from '../sql_tables/measured.ts';
import {
  freeName,
  isOfSlices,
  newWrite,
  stageLost,
  stageName,
  stagePrefix,
  wholeSlices,
} from '../sql_tables/stages.ts';
import type { StagedState } from '../sql_tables/stages.ts';
import { recordsIn, requireMoved } from '../sql_tables/staged_sink.ts';
import { inDatabase, quoted } from './config.ts';
import type { Connection } from './connection.ts';
import { columnList, insertStatement } from './table.ts';

/**
 * The stage of one attempt: a table beside the target, in which finished slices outlive the
 * attempt. Its rows have the number of their write, and a write is one transaction, so it is either
 * complete or absent. Its name is the attempt's own: the next attempt renames it, which fences off
 * the earlier one. All functions here work under the delivery's lock; some must run outside a
 * transaction, which MySQL would end.
 */
export type Stage = {
  connection: Connection;
  delivery: Delivery;
  table: string;
};

/** Returns the stage of this attempt, whether or not it exists. */
export function stageOf(connection: Connection, delivery: Delivery): Stage {
  return { connection, delivery, table: stageName(delivery) };
}

/**
 * Renames an earlier attempt's stage, returns the outcomes that it contains completely, and removes
 * every other stage of the delivery. From here on, the earlier attempt can stage nothing. Call it
 * outside a transaction.
 */
export async function takeStageOver(
  stage: Stage,
  outcomes: SliceOutcome[],
): Promise<SliceOutcome[]> {
  for (const table of outcomes.length === 0 ? [] : await listStages(stage)) {
    const whole = wholeSlices(outcomes, await countWrites(stage, table));
    if (whole.length === 0 || !(await renamed(stage, table))) continue;
    await dropStages(stage, stage.table);
    return whole;
  }
  await dropStages(stage);
  return [];
}

/**
 * Creates the stage with the target's own types, so that it refuses a value that does not fit.
 * False, without a stage, if the user may not create, rename and drop tables. Call it outside a
 * transaction.
 */
export async function createStage(stage: Stage): Promise<boolean> {
  const { connection } = stage;
  const name = inDatabase(stage.connection.config, stage.table);
  const isAllowed = await unlessDenied(async () => {
    // Checks the right to drop, with or without a table, before the table is created.
    await connection.run(`DROP TABLE IF EXISTS ${name}`);
    await connection.run(await stageStatement(stage));
  });
  if (!isAllowed) return false;
  // A comment needs the right to alter, like the later renaming.
  if (
    await unlessDenied(() =>
      connection.run(
        `ALTER TABLE ${name} COMMENT =
          'Rows of an export that wait to be shown; removed with the end of its run.'`,
      ),
    )
  )
    return true;
  await dropStages(stage);
  return false;
}

/**
 * Written out, because servers with GTIDs long refused CREATE TABLE ... SELECT; with a primary key,
 * because some servers require one.
 */
async function stageStatement(stage: Stage): Promise<string> {
  const { connection, delivery } = stage;
  const found = await connection.rows<{
    name: string;
    type: string;
    is_nullable: string;
    collation: string | null;
  }>(
    `SELECT COLUMN_NAME AS name, COLUMN_TYPE AS type, IS_NULLABLE AS is_nullable,
      COLLATION_NAME AS collation FROM information_schema.COLUMNS
      WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ?`,
    [connection.config.database, connection.target.table],
  );
  const own = new Set(delivery.columns.map(({ name }) => name.toLowerCase()));
  const columns = found
    .filter(({ name }) => own.has(name.toLowerCase()))
    .map(
      ({ name, type, is_nullable, collation }) =>
        `${quoted(name)} ${type}${collation === null ? '' : ` COLLATE ${collation}`} ` +
        (is_nullable === 'YES' ? 'NULL' : 'NOT NULL'),
    );
  const ours = [
    `${rowColumn(stage)} bigint unsigned NOT NULL AUTO_INCREMENT PRIMARY KEY`,
    `${writeColumn(stage)} bigint NOT NULL`,
  ];
  const name = inDatabase(connection.config, stage.table);
  return `CREATE TABLE ${name} (${[...ours, ...columns].join(', ')})
    ENGINE = InnoDB`;
}

/**
 * Inserts the rows of a slice in the open transaction, with the function that sends lists of
 * values. Throws `slice_lost` if another attempt has claimed the stage.
 */
export async function stageSlice(
  stage: Stage,
  bytes: Readable,
  send: (
    insert: { before: string; row: string; load: { table: string; rest: string } },
    bytes: Readable,
  ) => Promise<void>,
): Promise<StagedState> {
  const write = newWrite();
  let slice_bytes = 0;
  const name = inDatabase(stage.connection.config, stage.table);
  const into = `INSERT INTO ${name} (${writeColumn(stage)},
    ${columnList(stage.delivery.columns)}) `;
  const counted = measured(bytes, (size) => (slice_bytes += size));
  const load = { table: name, rest: ` SET ${writeColumn(stage)} = ${write}` };
  await unlessGone(() => send({ before: into, row: `${write},`, load }, counted));
  return { write, slice_bytes };
}

/**
 * Moves the rows of the slices into the target, in the open transaction. Throws `slice_lost` if
 * another attempt has claimed the stage, and `count_mismatch`.
 */
export async function moveStage(stage: Stage, outcomes: SliceOutcome[]): Promise<void> {
  const { connection, delivery } = stage;
  const { before, after } = insertStatement(connection.target.quoted, delivery);
  const staged = `FROM ${inDatabase(connection.config, stage.table)}
    WHERE ${isOfSlices(writeColumn(stage), outcomes)}`;
  await unlessGone(async () => {
    const moved = await connection.run(
      `${before}SELECT ${columnList(delivery.columns)} ${staged}${after}`,
    );
    // The server counts each change of merged rows twice, so they are counted at their source.
    const [there] = isMerged(delivery)
      ? await connection.rows<{ records: number }>(`SELECT COUNT(*) AS records ${staged}`)
      : [{ records: moved }];
    requireMoved(recordsIn(outcomes), there?.records ?? 0);
  });
}

/**
 * Removes all stages of the delivery, of any attempt, except the one to keep. Call it outside a
 * transaction.
 */
export async function dropStages(stage: Stage, kept?: string): Promise<void> {
  for (const table of await listStages(stage))
    if (table !== kept)
      await stage.connection.run(
        `DROP TABLE IF EXISTS ${inDatabase(stage.connection.config, table)}`,
      );
}

async function listStages({ connection, delivery }: Stage): Promise<string[]> {
  const prefix = stagePrefix(delivery);
  const found = await connection.rows<{ name: string }>(
    'SELECT TABLE_NAME AS name FROM information_schema.TABLES WHERE TABLE_SCHEMA = ? AND ' +
      'LEFT(TABLE_NAME, ?) = ?',
    [connection.config.database, prefix.length, prefix],
  );
  return found.map(({ name }) => name);
}

async function countWrites(stage: Stage, table: string): Promise<Map<number, number>> {
  const rows = await stage.connection.rows<{ number: number; records: number }>(
    `SELECT ${writeColumn(stage)} AS number, COUNT(*) AS records
      FROM ${inDatabase(stage.connection.config, table)} GROUP BY 1`,
  );
  return new Map(rows.map(({ number, records }) => [number, records]));
}

/** False if the right was revoked after the stage was created: its rows are then written again. */
function renamed({ connection, table }: Stage, from: string): Promise<boolean> {
  const [now, then] = [from, table].map((name) => inDatabase(connection.config, name));
  return unlessDenied(() => connection.run(`RENAME TABLE ${now} TO ${then}`));
}

function rowColumn({ delivery }: Stage): string {
  return quoted(freeName('sluice_row', delivery.columns));
}

function writeColumn({ delivery }: Stage): string {
  return quoted(freeName('sluice_write', delivery.columns));
}

async function unlessDenied(work: () => Promise<unknown>): Promise<boolean> {
  try {
    await work();
    return true;
  } catch (error) {
    if ((error as { code?: unknown }).code === 'ER_TABLEACCESS_DENIED_ERROR') return false;
    throw error;
  }
}

async function unlessGone<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw (error as { code?: unknown }).code === 'ER_NO_SUCH_TABLE' ? stageLost(error) : error;
  }
}
