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

/** The parts of a stage: `supers` are the columns that hold SUPER values. */
export type StagePlace = {
  connection: Connection;
  config: RedshiftConfig;
  delivery: Delivery;
  supers: ReadonlySet<string>;
};

/**
 * The place where rows wait, in one of two ways, until all of them are brought into the table at
 * once.
 */
export type Stage = {
  /**
   * Returns the slices of earlier attempts that wait whole; removes all other waiting rows of this
   * delivery.
   */
  recover(place: StagePlace, outcomes: SliceOutcome[]): Promise<SliceOutcome[]>;
  /**
   * Takes a slice's rows; gives their number and what finds them again. When it rejects, nothing of
   * the slice counts.
   */
  write(
    place: StagePlace,
    slice: Slice,
    bytes: Readable,
  ): Promise<{ records: number; state: Json }>;
  /** Brings the rows of all slices into one table, with nothing else, and gives its quoted name. */
  load(place: StagePlace, outcomes: SliceOutcome[]): Promise<string>;
  /** Removes what waits of this delivery elsewhere than in tables. */
  clear(): Promise<void>;
};

// The 16 MB that a statement may have, but for the text around the values.
const row_limit: RowLimit = {
  bytes: 15_500_000,
  advice: 'Leave such events out at their source, or export to files.',
};

/**
 * Opens the stage of the mode INSERT. A slice is one transaction. A lone slice waits in a temporary
 * table, as it is repeated after a crash in any case; several wait in a table that survives the
 * session, or, if the user may not create one, in the temporary table as well.
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
 * Inserts rows in one transaction, with the number of their write where they have one, and gives
 * how many came.
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

/**
 * Gives what creates the table `sluice_stage` of a session when it is called first, and does
 * nothing later.
 */
export function stageMaker(): (place: StagePlace) => Promise<void> {
  let is_created = false;
  return async ({ connection, config, delivery }) => {
    if (is_created) return;
    await connection.rows(stageStatement(targetOf(config).quoted, delivery.columns));
    is_created = true;
  };
}

/**
 * Throws when the table does not hold as many rows as the slices have: what is shown must be what
 * was counted.
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
