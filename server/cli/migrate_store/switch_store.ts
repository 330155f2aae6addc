import { row_tables } from '../../engine/model/removals/delete_rows.ts';
import type { RowTable } from '../../engine/model/removals/delete_rows.ts';
import { setTimeout as pause } from 'node:timers/promises';
import sql from 'sql-template-tag';
import type { ClickHouse } from '../../platform/clickhouse/client.ts';
import type { Database } from '../../platform/postgres/database.ts';
import { findCut } from '../backup/analytics_copy.ts';
import { UserError } from '../user_error.ts';
import { copyRows } from './copy_rows.ts';
import type { Move } from './copy_rows.ts';

/** Returns the name of a table that accepts no more writes. */
const movedName = (table: RowTable) => `${table}_moved`;
const quiet_ms = 200;
const writes_seconds_max = 60;

/** Returns the tables that a started switch has taken from the server. */
export async function movedTables(source: ClickHouse): Promise<Set<RowTable>> {
  const found = await source.rows<{ name: string }>({
    query: `SELECT name FROM system.tables WHERE database = currentDatabase()
      AND name IN (${row_tables.map((table) => `'${movedName(table)}'`).join(', ')})`,
  });
  const names = new Set(found.map(({ name }) => name));
  return new Set(row_tables.filter((table) => names.has(movedName(table))));
}

/**
 * Renames the tables of the source, so that the server can no longer write them, and copies the
 * last rows. From here on, the server answers events with 503, and exports wait, until it starts on
 * the target. So no row can be missed. If this fails, the tables get their names back. It can be
 * killed and repeated.
 */
export async function switchStore(db: Database, move: Omit<Move, 'named'>): Promise<number> {
  const { source } = move;
  const taken = await movedTables(source);
  for (const table of row_tables)
    if (!taken.has(table))
      await source.command({ query: `RENAME TABLE ${table} TO ${movedName(table)}` });
  try {
    await requireNoErasure(db);
    // Writers release the lock of their project or the store when they have finished.
    await findCut(db, 0);
    await whenQuiet(source);
    return await copyRows({ ...move, named: movedName });
  } catch (error) {
    await giveBack(source);
    throw error;
  }
}

/** Gives the tables back to the server. */
export async function giveBack(source: ClickHouse): Promise<void> {
  for (const table of await movedTables(source))
    await source.command({ query: `RENAME TABLE ${movedName(table)} TO ${table}` });
}

/** The notes of an erasure about its rows are in the store that is left. */
async function requireNoErasure(db: Database): Promise<void> {
  const open = await db.row(sql`SELECT 1 FROM erasures WHERE finished_at IS NULL LIMIT 1`);
  if (open !== undefined)
    throw new UserError(
      'An erasure is in progress, and its notes are in this store. Switch after it is complete ' +
        '(`sluice erasures`).',
    );
}

async function whenQuiet(source: ClickHouse): Promise<void> {
  const deadline = performance.now() + writes_seconds_max * 1_000;
  for (;;) {
    const [row] = await source.rows<{ writes: number }>({
      query: `SELECT count() AS writes FROM system.processes WHERE query_kind = 'Insert'
        AND (query ILIKE '%INTO events%' OR query ILIKE '%INTO persons%')`,
    });
    if (row?.writes === 0) return;
    if (performance.now() > deadline)
      throw new UserError('The store is still processing an insert. Try again.');
    await pause(quiet_ms);
  }
}
