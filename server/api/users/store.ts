import sql from 'sql-template-tag';
import { v4 as uuidv4, v7 as uuidv7 } from 'uuid';
import type { Queryable, Transaction } from '../../platform/postgres/database.ts';

/** What sign-in and the command line need to know of a user. */
export type UserRow = { id: number; uuid: string; email: string; is_active: boolean; password_hash: string | null };

/** Makes an active user. The address keeps its spelling; another user with the same address in any case makes a violation of `users_email_unique`. */
export async function insertUser(
  tx: Transaction,
  fields: { email: string; password_hash: string | null; first_name?: string; last_name?: string },
): Promise<UserRow> {
  const [row] = await tx.rows<UserRow>(sql`
    INSERT INTO users (uuid, distinct_id, email, password_hash, first_name, last_name)
    VALUES (${uuidv7()}, ${uuidv4()}, ${fields.email}, ${fields.password_hash}, ${fields.first_name ?? ''}, ${fields.last_name ?? ''})
    RETURNING id, uuid, email, is_active, password_hash`);
  return row!;
}

/** The user with this address, however it is written. Leans on the unique index over lower(email). */
export function findUserByEmail(db: Queryable, email: string): Promise<UserRow | undefined> {
  return db.row<UserRow>(sql`SELECT id, uuid, email, is_active, password_hash FROM users WHERE lower(email) = lower(${email})`);
}
