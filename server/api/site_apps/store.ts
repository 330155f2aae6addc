import sql from 'sql-template-tag';
import { v4 as uuidv4 } from 'uuid';
import type { Queryable, Transaction } from '../../platform/postgres/database.ts';
import { locking } from '../../platform/postgres/locking.ts';

/**
 * Returns the token of the project's script; with `lock`, nobody else can change it until the
 * transaction ends. Undefined if the project does not exist.
 */
export async function findSiteToken(
  db: Queryable,
  team_id: number,
  lock?: 'lock',
): Promise<string | undefined> {
  const row = await db.row<{ site_token: string }>(
    sql`SELECT site_token FROM projects WHERE id = ${team_id}
      ${locking(lock, 'FOR UPDATE')}`,
  );
  return row?.site_token;
}

/** Gives the project another random token; the old address stops working. */
export async function rotateSiteToken(tx: Transaction, team_id: number): Promise<void> {
  await tx.run(
    sql`UPDATE projects SET site_token = ${`slw_${uuidv4().replaceAll('-', '')}`}
      WHERE id = ${team_id}`,
  );
}
