import sql from 'sql-template-tag';
import type { Queryable } from './database.ts';

/** The column `instant`: the control store's clock in whole milliseconds. */
export const instant_column = sql`
  floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS instant`;

/**
 * Returns the control store's clock in whole milliseconds: the one clock that all processes of a
 * server share, and that stamps insertions.
 */
export async function databaseInstant(queryable: Queryable): Promise<number> {
  const row = await queryable.row<{ instant: number }>(sql`SELECT ${instant_column}`);
  return row!.instant;
}
