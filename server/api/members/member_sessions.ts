import sql, { raw } from 'sql-template-tag';
import type { Caller } from '../../platform/http/caller/access.ts';
import { is_own_method } from '../../platform/http/caller/access_finder.ts';
import { listOf } from '../../platform/http/lists/pagination.ts';
import type { List } from '../../platform/http/lists/pagination.ts';
import type { Transaction } from '../../platform/postgres/database.ts';
import type { SessionRow } from '../sessions/schema.ts';
import { columnsFor, live } from '../sessions/store.ts';

/** The sessions of a person for an owner; `session_id` is the owner's own session. */
export type SessionsIn = Pick<Caller, 'user_id' | 'session_id'> & { organization_id: string };

/** SQL for valid sessions `s` of the person that reach the organization. */
const liveIn = ({ organization_id, user_id }: SessionsIn, now_ms: number) => sql`
  ${live({ user_id }, now_ms)} AND (${raw(is_own_method)} OR s.own_factor_at IS NOT NULL
    OR NOT s.awaits_factor AND EXISTS (SELECT 1 FROM provider_reach r
      WHERE r.domain_id = s.domain_id AND r.organization_id = ${organization_id}::uuid))`;
const columnsIn = ({ session_id }: SessionsIn) => columnsFor({ session_id, is_partial: false });

/**
 * Lists the person's sessions that reach the organization, newest first (ties by id). Uses
 * sessions_by_user.
 */
export function listSessionsIn(place: SessionsIn, now_ms: number): List {
  return listOf(
    columnsIn(place),
    sql`sessions s WHERE ${liveIn(place, now_ms)}`,
    sql`s.created_at DESC, s.id DESC`,
  );
}

/**
 * Returns the session with this id if it reaches the organization, locked until the transaction
 * ends.
 */
export function findSessionIn(
  tx: Transaction,
  place: SessionsIn,
  id: string,
  now_ms: number,
): Promise<SessionRow | undefined> {
  return tx.row<SessionRow>(
    sql`SELECT ${columnsIn(place)} FROM sessions s WHERE s.id = ${id}::uuid
      AND ${liveIn(place, now_ms)} FOR UPDATE`,
  );
}

/** Ends the person's sessions that reach the organization; returns their number. */
export function endSessionsIn(tx: Transaction, place: SessionsIn, now_ms: number): Promise<number> {
  return tx.run(sql`DELETE FROM sessions s WHERE ${liveIn(place, now_ms)}`);
}
