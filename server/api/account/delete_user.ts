import sql from 'sql-template-tag';
import type { Transaction } from '../../platform/postgres/database.ts';

/**
 * Locks all organizations of the user until the transaction ends, in the order of their ids. Waits
 * two seconds for a busy organization (an apply), then throws a 503, because the other
 * organizations would stay locked.
 */
export async function lockHomes(tx: Transaction, user_id: number): Promise<void> {
  await tx.run(sql`SET LOCAL lock_timeout = '2s'`);
  await tx.rows(
    sql`SELECT 1 FROM organizations WHERE id IN (SELECT organization_id FROM members
      WHERE user_id = ${user_id}) ORDER BY id FOR NO KEY UPDATE`,
  );
  await tx.run(sql`SET LOCAL lock_timeout = 0`);
}

/**
 * Returns the names of the organizations that would have no active owner without the user. Locks
 * all organizations of the user, so that the answer stays valid: if the last two owners leave at
 * once, one of them is refused.
 */
export async function listOnlyOwned(tx: Transaction, user_id: number): Promise<string[]> {
  await lockHomes(tx, user_id);
  const rows = await tx.rows<{ name: string }>(sql`
    SELECT o.name FROM organizations o JOIN members own ON own.organization_id = o.id
      AND own.user_id = ${user_id} AND own.level = 15 WHERE NOT EXISTS (
      SELECT 1 FROM members m JOIN users u ON u.id = m.user_id AND u.is_active
        WHERE m.organization_id = o.id AND m.level = 15 AND m.user_id <> ${user_id})
    ORDER BY o.created_at, o.id`);
  return rows.map(({ name }) => name);
}

/** Lists the organizations of the user, in the order of their ids. */
export async function listHomes(tx: Transaction, user_id: number): Promise<string[]> {
  const rows = await tx.rows<{ organization_id: string }>(
    sql`SELECT organization_id FROM members WHERE user_id = ${user_id} ORDER BY organization_id`,
  );
  return rows.map(({ organization_id }) => organization_id);
}

/**
 * Deletes the user and by cascade their memberships, keys, sessions, links and codes. Objects that
 * they created stay, without their name.
 */
export async function deleteUser(tx: Transaction, user_id: number): Promise<void> {
  await tx.run(sql`DELETE FROM users WHERE id = ${user_id}`);
}
