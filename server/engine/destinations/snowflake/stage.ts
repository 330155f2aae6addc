import type { Delivery, SliceOutcome } from '../../model/destination/destination.ts';
import { quoted } from '../sql_tables/layout.ts';
import { findReceipt } from '../sql_tables/receipts.ts';
import {
  freeName,
  isOfSlices,
  newWrite,
  stageLost,
  stageName,
  stagePrefix,
  wholeSlices,
} from '../sql_tables/stages.ts';
import { SnowflakeFault } from './client.ts';
import type { Connection } from './connection.ts';
import { temporaryName } from './load.ts';
import { snowflakeDialect } from './dialect.ts';
import type { TableColumns } from './table.ts';

/** The place of a delivery, and the columns of its table. */
type Place = {
  connection: Connection;
  delivery: Delivery;
  columns: TableColumns;
};

/**
 * A table like the target in which the rows of finished slices wait. One that outlives the session
 * has the number of each row's write, and its name is the attempt's own: the next attempt renames
 * it, which fences off the earlier one.
 */
export type Stage = {
  /**
   * Inserts rows in one statement, all or none, and returns the number of the write, or undefined
   * for a stage that ends with the session. Throws `slice_lost` if another attempt has claimed the
   * stage.
   */
  insert(rows: { columns: string; values: string; from: string }): Promise<number | undefined>;
  /** Returns the text after FROM that reads exactly the rows of the slices. */
  rowsOf(outcomes: SliceOutcome[]): string;
};

/**
 * Opens a stage that ends with the session, for a delivery of one slice, which is always repeated
 * after a crash, or for a role that may not create tables.
 */
export async function openTemporaryStage({ connection }: Place): Promise<Stage> {
  const table = quoted(temporaryName('rows'));
  await connection.rows(`CREATE TEMPORARY TABLE ${table} LIKE ${connection.target.quoted}`);
  return {
    insert: async ({ columns, values, from }) => {
      await connection.rows(`INSERT INTO ${table} (${columns}) SELECT ${values} FROM ${from}`);
      return undefined;
    },
    rowsOf: () => table,
  };
}

/**
 * Creates a stage that outlives the session. Undefined if the role may not create tables. Throws
 * `slice_lost` if the delivery is complete by now: then nobody would remove the stage.
 */
export async function openStage(place: Place): Promise<Stage | undefined> {
  const { connection, delivery } = place;
  const dialect = snowflakeDialect(connection);
  if ((await findReceipt(dialect, delivery.delivery_id)) !== undefined) throw stageLost();
  const name = stageName(delivery);
  try {
    await connection.rows(
      `CREATE TRANSIENT TABLE ${quoted(name)} LIKE ${connection.target.quoted}`,
    );
  } catch (error) {
    if (sqlState(error) === '42501') return undefined;
    throw error;
  }
  await connection.rows(
    `ALTER TABLE ${quoted(name)} ADD COLUMN ${writeColumn(place)} NUMBER(38, 0)`,
  );
  // Its history is not needed: otherwise its rows would be kept, and paid for, a day after it is
  // dropped.
  await connection.rows(`ALTER TABLE ${quoted(name)} SET DATA_RETENTION_TIME_IN_DAYS = 0`);
  return stageAt(place, name);
}

/**
 * Claims the stage of an earlier attempt, with the outcomes that it contains completely, and
 * removes every other stage of the delivery. Undefined if nothing is complete.
 */
export async function takeOver(
  place: Place,
  outcomes: SliceOutcome[],
): Promise<{ stage: Stage; whole: SliceOutcome[] } | undefined> {
  const { connection } = place;
  let taken: { stage: Stage; whole: SliceOutcome[] } | undefined;
  for (const name of await listStages(place)) {
    const whole =
      taken === undefined && outcomes.length > 0
        ? wholeSlices(outcomes, await countWrites(place, name))
        : [];
    if (whole.length === 0) {
      await connection.rows(`DROP TABLE IF EXISTS ${quoted(name)}`);
      continue;
    }
    const renamed = stageName(place.delivery);
    await connection.rows(`ALTER TABLE ${quoted(name)} RENAME TO ${quoted(renamed)}`);
    taken = { stage: stageAt(place, renamed), whole };
  }
  return taken;
}

/** Removes all stages of the delivery that outlive sessions, of any attempt. */
export async function dropStages(place: Omit<Place, 'columns'>): Promise<void> {
  for (const name of await listStages(place))
    await place.connection.rows(`DROP TABLE IF EXISTS ${quoted(name)}`);
}

function stageAt(place: Place, name: string): Stage {
  const column = writeColumn(place);
  return {
    insert: async ({ columns, values, from }) => {
      const write = newWrite();
      try {
        await place.connection.rows(
          `INSERT INTO ${quoted(name)} (${column}, ${columns}) SELECT ${write}, ${values}
            FROM ${from}`,
        );
      } catch (error) {
        throw sqlState(error) === '42S02' ? stageLost(error) : error;
      }
      return write;
    },
    // Also excludes rows of an earlier attempt's insert that was in progress during the renaming of
    // its stage.
    rowsOf: (outcomes) => `${quoted(name)} WHERE ${isOfSlices(column, outcomes)}`,
  };
}

async function listStages({ connection, delivery }: Omit<Place, 'columns'>): Promise<string[]> {
  const prefix = stagePrefix(delivery);
  const found = await connection.rows<{ name: string }>(
    `SELECT TABLE_NAME AS "name" FROM INFORMATION_SCHEMA.TABLES WHERE TABLE_SCHEMA = ?
      AND LEFT(TABLE_NAME, ${prefix.length}) = ? ORDER BY TABLE_NAME`,
    [connection.config.schema, prefix],
  );
  return found.map(({ name }) => name);
}

async function countWrites(place: Place, name: string): Promise<Map<number, number>> {
  const rows = await place.connection.rows<{ number: number; records: number }>(
    `SELECT ${writeColumn(place)} AS "number", COUNT(*) AS "records" FROM ${quoted(name)}
      GROUP BY ${writeColumn(place)}`,
  );
  return new Map(rows.map(({ number, records }) => [number, records]));
}

/** Returns a name that no column of the table has. */
function writeColumn({ columns, delivery }: Place): string {
  const found = [...columns.keys()].map((name) => ({ name }));
  return quoted(freeName('sluice_write', [...found, ...delivery.columns]));
}

function sqlState(error: unknown): string | undefined {
  return error instanceof SnowflakeFault ? error.fault.sql_state : undefined;
}
