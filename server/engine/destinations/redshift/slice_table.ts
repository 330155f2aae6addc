import type { Readable } from 'node:stream';
import type { Delivery, SliceOutcome } from '../../model/destination/destination.ts';
import { quoted } from '../sql_tables/layout.ts';
import { measured } from '../sql_tables/measured.ts';
import type { Connection } from '../sql_tables/postgres/connection.ts';
import {
  freeName,
  newWrite,
  stageLost,
  stageName,
  stagePrefix,
  stagedState,
  wholeSlices,
} from '../sql_tables/stages.ts';
import type { StagedState } from '../sql_tables/stages.ts';
import { targetOf } from './config.ts';
import type { RedshiftConfig } from './config.ts';
import { findReceipt } from '../sql_tables/receipts.ts';
import { redshiftDialect } from './dialect.ts';
import { sliceTableStatement } from './table.ts';
import { inTransaction, waiting } from './transactions.ts';

/** The place of a delivery. */
type Place = { connection: Connection; config: RedshiftConfig; delivery: Delivery };

/**
 * Inserts rows into a table in one transaction, with the number of their write in a column, and
 * returns their number.
 */
type InsertRows = (
  target: { table: string; write: { column: string; number: number } },
  bytes: Readable,
) => Promise<number>;

/**
 * A table of one attempt, in which finished slices outlive it. Its name is the attempt's own: the
 * next attempt renames it, which fences off the earlier one.
 */
export type SliceTable = {
  quoted: string;
  /** Writes a slice. Throws `slice_lost` if another attempt has claimed the table. */
  write(insert: InsertRows, bytes: Readable): Promise<{ records: number; state: StagedState }>;
};

/**
 * Creates a table for slices, beside the target and with its types. Undefined if the user may not.
 * Throws `slice_lost` if the delivery is complete by now: then nobody would remove the table.
 */
export async function openSliceTable(place: Place): Promise<SliceTable | undefined> {
  const { connection, config, delivery } = place;
  const dialect = redshiftDialect(connection, config);
  if ((await findReceipt(dialect, delivery.delivery_id)) !== undefined) throw stageLost();
  const name = stageName(delivery);
  try {
    await connection.rows(
      sliceTableStatement(
        quotedName(place, name),
        writeColumn(place),
        targetOf(config).quoted,
        delivery.columns,
      ),
    );
  } catch (error) {
    if ((error as { code?: unknown }).code === '42501') return undefined;
    throw error;
  }
  return sliceTable(place, name);
}

/**
 * Claims the table of an earlier attempt, with the outcomes that it contains completely, and
 * removes all other waiting rows of the delivery. Undefined if nothing is complete.
 */
export async function takeOver(
  place: Place,
  outcomes: SliceOutcome[],
): Promise<{ table: SliceTable; whole: SliceOutcome[] } | undefined> {
  for (const from of outcomes.length === 0 ? [] : await listTables(place)) {
    const to = stageName(place.delivery);
    const whole = await unlessGone(() => renameWhole(place, outcomes, { from, to }));
    if (whole.length === 0) continue;
    await dropSliceTables(place, to);
    return { table: sliceTable(place, to), whole };
  }
  await dropSliceTables(place);
  return undefined;
}

/**
 * The lock comes first: the first read fixes the transaction's snapshot, and that must come after a
 * slice that the earlier attempt is writing.
 */
function renameWhole(
  place: Place,
  outcomes: SliceOutcome[],
  { from, to }: { from: string; to: string },
): Promise<SliceOutcome[]> {
  const { connection } = place;
  const table = quotedName(place, from);
  const column = writeColumn(place);
  return inTransaction(connection, async () => {
    await waiting(connection, 'the stage of this delivery', () =>
      connection.rows(`LOCK TABLE ${table}`),
    );
    const counted = await connection.rows<{ number: string; records: string }>(
      `SELECT ${column} AS number, COUNT(*) AS records FROM ${table} GROUP BY 1`,
    );
    const whole = wholeSlices(
      outcomes,
      new Map(counted.map(({ number, records }) => [Number(number), Number(records)])),
    );
    if (whole.length === 0) return whole;
    const kept = whole.map((outcome) => stagedState(outcome)?.write);
    if (counted.some(({ number }) => !kept.includes(Number(number))))
      await connection.rows(`DELETE FROM ${table} WHERE ${column} NOT IN (${kept.join(', ')})`);
    await connection.rows(`ALTER TABLE ${table} RENAME TO ${quoted(to)}`);
    return whole;
  });
}

/** Removes all tables of slices of the delivery, of any attempt, except the one to keep. */
export async function dropSliceTables(place: Place, kept?: string): Promise<void> {
  const { connection } = place;
  for (const table of await listTables(place)) {
    if (table === kept) continue;
    await waiting(connection, 'the stage of this delivery', () =>
      connection.rows(`DROP TABLE IF EXISTS ${quotedName(place, table)}`),
    );
  }
}

/** Runs `work` and throws `slice_lost` if a table no longer exists. */
export async function unlessGone<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw (error as { code?: unknown }).code === '42P01' ? stageLost(error) : error;
  }
}

function sliceTable(place: Place, name: string): SliceTable {
  const table = quotedName(place, name);
  return {
    quoted: table,
    write: async (insert, bytes) => {
      const number = newWrite();
      let slice_bytes = 0;
      const counted = measured(bytes, (size) => (slice_bytes += size));
      const records = await unlessGone(() =>
        insert({ table, write: { column: writeColumn(place), number } }, counted),
      );
      return { records, state: { write: number, slice_bytes } };
    },
  };
}

async function listTables({ connection, config, delivery }: Place): Promise<string[]> {
  const found = await connection.rows<{ name: string }>(
    `SELECT c.relname AS name FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
      WHERE lower(n.nspname) = lower($1) AND c.relname LIKE $2 AND c.relkind = 'r' ORDER BY 1`,
    [targetOf(config).schema, `${stagePrefix(delivery)}%`],
  );
  return found.map(({ name }) => name);
}

function quotedName({ config }: Place, table: string): string {
  return `${quoted(targetOf(config).schema)}.${quoted(table)}`;
}

function writeColumn({ delivery }: Place): string {
  return quoted(freeName('sluice_write', delivery.columns));
}
