import type { Readable } from 'node:stream';
import { isOnly } from '../../model/destination/destination.ts';
import { RetryableError } from '../../model/destination/errors.ts';
import type { Delivery, Json, Slice, SliceOutcome } from '../../model/destination/destination.ts';
import type { Connection } from '../sql_tables/postgres/connection.ts';
import { targetOf } from './config.ts';
import type { RedshiftConfig } from './config.ts';
import { insertsOf, rowsOf } from './rows.ts';
import type { RowLimit } from './rows.ts';
import { openSliceTable, takeOver } from './slice_table.ts';
import type { SliceTable } from './slice_table.ts';
import { stage, stageStatement } from './table.ts';
import { inTransaction } from './transactions.ts';
import { counted } from '../../../platform/counted.ts';

/** The parts of a stage: `supers` are the columns with SUPER values. */
export type StagePlace = {
  connection: Connection;
  config: RedshiftConfig;
  delivery: Delivery;
  supers: ReadonlySet<string>;
};

/**
 * The place where rows wait, in one of two modes, until all of them are moved into the table at
 * once.
 */
export type Stage = {
  /**
   * Returns the complete slices of earlier attempts; removes all other waiting rows of this
   * delivery.
   */
  recover(place: StagePlace, outcomes: SliceOutcome[]): Promise<SliceOutcome[]>;
  /**
   * Writes a slice's rows; returns their number and the state that finds them again. If it rejects,
   * nothing of the slice counts.
   */
  write(
    place: StagePlace,
    slice: Slice,
    bytes: Readable,
  ): Promise<{ records: number; state: Json }>;
  /**
   * Loads the rows of all slices, and nothing else, into one table, and returns its quoted name.
   */
  load(place: StagePlace, outcomes: SliceOutcome[]): Promise<string>;
  /** Removes waiting rows of this delivery outside of tables. */
  clear(): Promise<void>;
};

// The 16 MB limit of a statement, without the text around the values.
const row_limit: RowLimit = {
  bytes: 15_500_000,
  advice: 'Leave such events out at their source, or export to files.',
};

/**
 * Opens the stage of the mode INSERT. A slice is one transaction. A single slice waits in a
 * temporary table, because it is always repeated after a crash. Several wait in a table that
 * survives the session, or in the temporary table too if the user may not create one.
 */
export function insertStage(): Stage {
  const create = stageMaker();
  let table: SliceTable | undefined;
  let isTemporary = false;
  return {
    recover: async (place, outcomes) => {
      const taken = await takeOver(place, outcomes);
      table = taken?.table;
      return taken?.whole ?? [];
    },
    write: async (place, slice, bytes) => {
      if (table === undefined && !isTemporary) {
        table = isOnly(slice) ? undefined : await openSliceTable(place);
        isTemporary = table === undefined;
      }
      if (table !== undefined)
        return table.write((target, counted) => insertRows(place, target, counted), bytes);
      await create(place);
      return { records: await insertRows(place, { table: stage }, bytes), state: null };
    },
    load: async (place) => {
      if (table !== undefined) return table.quoted;
      await create(place);
      return stage;
    },
    clear: async () => undefined,
  };
}

/**
 * Inserts rows in one transaction, with the number of their write if they have one, and returns
 * their number.
 */
export function insertRows(
  { connection, delivery, supers }: StagePlace,
  target: { table: string; write?: { column: string; number: number } },
  bytes: Readable,
): Promise<number> {
  return inTransaction(connection, async () => {
    let records = 0;
    for await (const insert of insertsOf(
      { ...target, columns: delivery.columns, supers },
      rowsOf(delivery.columns, supers, bytes, row_limit),
    )) {
      await connection.rows(insert.text, insert.values);
      records += insert.records;
    }
    return records;
  });
}

/** Returns a function that creates the table `sluice_stage` of a session on its first call. */
export function stageMaker(): (place: StagePlace) => Promise<void> {
  let is_created = false;
  return async ({ connection, config, delivery }) => {
    if (is_created) return;
    await connection.rows(stageStatement(targetOf(config).quoted, delivery.columns));
    is_created = true;
  };
}

/**
 * Throws if the table has not as many rows as the slices: exactly the counted rows must be shown.
 */
export async function requireStaged(
  connection: Connection,
  table: string,
  expected: number,
): Promise<void> {
  const [row] = await connection.rows<{ records: string }>(
    `SELECT COUNT(*) AS records FROM ${table}`,
  );
  const found = Number(row?.records ?? 0);
  if (found !== expected)
    throw new RetryableError(
      'count_mismatch',
      `The slices have ${counted(expected, 'row')}, but the cluster took ${found}.`,
    );
}
