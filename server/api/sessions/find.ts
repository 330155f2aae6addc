import sql from 'sql-template-tag';
import type { Caller } from '../../platform/http/caller/access.ts';
import { listOf } from '../../platform/http/lists/pagination.ts';
import type { List } from '../../platform/http/lists/pagination.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import { locking } from '../../platform/postgres/locking.ts';
import type { SessionRow } from './schema.ts';
import { columnsFor, live } from './store.ts';

/** Lists the caller's active sessions, newest first (ties by id). Uses sessions_by_user. */
export function listSessions(caller: Caller, now_ms: number): List {
  return listOf(
    columnsFor(caller),
    sql`sessions s WHERE ${live(caller, now_ms)}`,
    sql`s.created_at DESC, s.id DESC`,
  );
}

/**
 * Returns the caller's active session with this id; with `lock`, nobody else can end it until the
 * transaction ends.
 */
export function findSession(
  db: Queryable,
  caller: Caller,
  id: string,
  now_ms: number,
  lock?: 'lock',
): Promise<SessionRow | undefined> {
  return db.row<SessionRow>(
    sql`SELECT ${columnsFor(caller)} FROM sessions s WHERE s.id = ${id}::uuid
      AND ${live(caller, now_ms)} ${locking(lock, 'FOR UPDATE')}`,
  );
}
