import type { Readable } from 'node:stream';
import { RetryableError } from '../../destination.ts';
import type { Delivery, Json, Slice, SliceOutcome } from '../../destination.ts';
import type { Connection } from '../../sql_tables/postgres_connection.ts';
import { targetOf } from './config.ts';
import type { RedshiftConfig } from './config.ts';
import { insertsOf, rowsOf } from './rows.ts';
import type { RowLimit } from './rows.ts';
import { stage, stageStatement } from './table.ts';

/** What a stage works with: `supers` are the columns that hold SUPER values. */
export type StagePlace = { connection: Connection; config: RedshiftConfig; delivery: Delivery; supers: ReadonlySet<string> };

/** Where rows wait, in one of two ways, until all of them are brought into the table at once. */
export type Stage = {
  /** Of the slices that earlier attempts finished, those that wait whole; what else waits of this delivery is removed. */
  recover(outcomes: SliceOutcome[]): Promise<SliceOutcome[]>;
  /** Takes a slice's rows; gives their number and what finds them again. When it rejects, nothing of the slice counts. */
  write(place: StagePlace, slice: Slice, bytes: Readable): Promise<{ records: number; state: Json }>;
  /** Brings the rows of all slices into the table `sluice_stage` of the session. */
  load(place: StagePlace, outcomes: SliceOutcome[]): Promise<void>;
  /** Removes what waits of this delivery. */
  clear(): Promise<void>;
};

// The 16 MB that a statement may have, but for the text around the values.
const row_limit: RowLimit = { bytes: 15_500_000, advice: 'Leave such events out at their source, or export to files.' };

/** The stage of the mode INSERT: rows wait in a temporary table and go with the session, so nothing survives it. A slice is one transaction. */
export function insertStage(): Stage {
  const make = stageMaker();
  return {
    recover: async () => [],
    write: async (place, _slice, bytes) => {
      const { connection, delivery, supers } = place;
      await make(place);
      let records = 0;
      await inTransaction(connection, async () => {
        const rows = rowsOf(delivery.columns, supers, bytes, row_limit);
        for await (const insert of insertsOf(stage, delivery.columns, supers, rows)) {
          await connection.rows(insert.text, insert.values);
          records += insert.records;
        }
      });
      return { records, state: null };
    },
    load: make,
    clear: async () => undefined,
  };
}

/** Gives what makes the table `sluice_stage` of a session when it is called first, and does nothing later. */
export function stageMaker(): (place: StagePlace) => Promise<void> {
  let is_made = false;
  return async ({ connection, config, delivery }) => {
    if (is_made) return;
    await connection.rows(stageStatement(targetOf(config).quoted, delivery.columns));
    is_made = true;
  };
}

/** Runs `work` between BEGIN and COMMIT, and rolls back when it fails; the failure is thrown as it is. */
export async function inTransaction(connection: Connection, work: () => Promise<void>): Promise<void> {
  await connection.rows('BEGIN');
  try {
    await work();
    await connection.rows('COMMIT');
  } catch (error) {
    await connection.rows('ROLLBACK').catch(() => undefined);
    throw error;
  }
}

/** Throws when the stage does not hold as many rows as the slices have: what is shown must be what was counted. */
export async function requireStaged(connection: Connection, outcomes: SliceOutcome[]): Promise<void> {
  const expected = outcomes.reduce((sum, outcome) => sum + outcome.records, 0);
  const [row] = await connection.rows<{ records: string }>(`SELECT COUNT(*) AS records FROM ${stage}`);
  const found = Number(row?.records ?? 0);
  if (found !== expected) throw new RetryableError('count_mismatch', `The slices have ${expected} rows, but the cluster took ${found}.`);
}
