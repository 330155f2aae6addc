import type { FastifyReply, FastifyRequest } from 'fastify';
import sql from 'sql-template-tag';
import { v7 as uuidv7 } from 'uuid';
import { appendActivity } from '../../platform/activity/chain.ts';
import type { Actor } from '../../platform/activity/chain.ts';
import { changesOf, secretChange } from '../../platform/activity/changes.ts';
import type { Change } from '../../platform/activity/changes.ts';
import { isoInstant } from '../../platform/clock.ts';
import type { Caller } from '../../platform/http/caller/access.ts';
import { userAgentOf } from '../../platform/http/caller/auth.ts';
import type { List } from '../../platform/http/lists/pagination.ts';
import {
  createSessionToken,
  session_idle_ms,
  session_lifetime_ms,
  sessionTokenOf,
  setSessionCookie,
} from '../../platform/http/caller/session.ts';
import type { Afterwards, Entry } from '../../platform/http/write.ts';
import type { Queryable, Transaction } from '../../platform/postgres/database.ts';
import { locking } from '../../platform/postgres/locking.ts';
import type { Secrets } from '../../platform/secrets/secrets.ts';
import { deleteKeysOf } from '../api_keys/store.ts';
import { actorOf, removeSecondFactor, updateUser } from '../users/store.ts';
import type { Identity } from '../users/store.ts';
import type { SessionRow } from './schema.ts';

const columns = (caller: Pick<Caller, 'session_id'>) => sql`
  s.id, s.method, s.ip, s.user_agent, s.created_at, s.last_used_at, s.expires_at,
    coalesce(s.id = ${caller.session_id}::uuid, false) AS is_current`;
/** Sessions `s` that would still be taken. */
const live = (caller: Pick<Caller, 'user_id'>, now_ms: number) => sql`
  s.user_id = ${caller.user_id} AND s.expires_at > ${isoInstant(now_ms)}::timestamptz
    AND s.last_used_at >= ${isoInstant(now_ms - session_idle_ms)}::timestamptz`;

/**
 * The caller's sessions that have not ended, newest first (ties by id). Leans on sessions_by_user.
 */
export function listSessions(caller: Caller, now_ms: number): List {
  return {
    rows: (page) => sql`SELECT ${columns(caller)} FROM sessions s WHERE ${live(caller, now_ms)}
      ORDER BY s.created_at DESC, s.id DESC LIMIT ${page.limit} OFFSET ${page.offset}`,
    count: sql`SELECT count(*) AS count FROM sessions s WHERE ${live(caller, now_ms)}`,
  };
}

/**
 * The caller's session with this id, when it has not ended; with `lock` nobody else ends it until
 * the transaction does.
 */
export function findSession(
  db: Queryable,
  caller: Caller,
  id: string,
  now_ms: number,
  lock?: 'lock',
): Promise<SessionRow | undefined> {
  return db.row<SessionRow>(
    sql`SELECT ${columns(caller)} FROM sessions s WHERE s.id = ${id}::uuid
      AND ${live(caller, now_ms)} ${locking(lock, 'FOR UPDATE')}`,
  );
}

/** How the browser of a request is signed in. `afterwards` is that of the write. */
export type Browser = { request: FastifyRequest; reply: FastifyReply; afterwards: Afterwards };

/**
 * Signs the user in at the browser: a new session with a fresh token, whose cookie goes out with
 * the answer once the transaction is committed; a session that the browser showed is ended,
 * whosever it was. The caller has made sure who it is, that they are active, and of their second
 * factor.
 */
export async function startSession(
  tx: Transaction,
  { request, reply, afterwards }: Browser,
  user: { id: number },
  method: string,
): Promise<SessionRow> {
  const { context } = request.server;
  const now = context.clock.now();
  await endShown(tx, request);
  const token = createSessionToken();
  const id = uuidv7();
  const expires_at_ms = now + session_lifetime_ms;
  const user_agent = userAgentOf(request);
  const [row] = await tx.rows<SessionRow>(sql`
    INSERT INTO sessions AS s (id, user_id, token_hash, token_created_at, method, ip, user_agent,
      created_at, last_used_at, expires_at)
    VALUES (${id}, ${user.id}, ${context.secrets.hash(token)}, ${isoInstant(now)}::timestamptz,
      ${method}, ${request.ip}, ${user_agent}, ${isoInstant(now)}::timestamptz,
      ${isoInstant(now)}::timestamptz, ${isoInstant(expires_at_ms)}::timestamptz)
    RETURNING ${columns({ session_id: id })}`);
  afterwards(async () => setSessionCookie(context, reply, token, expires_at_ms));
  return row!;
}

/**
 * Gives the session a fresh token; the one before it is no longer taken, not even for requests
 * under way. The cookie goes out once the transaction is committed.
 */
export async function replaceToken(
  tx: Transaction,
  { request, reply, afterwards }: Browser,
  session_id: string,
): Promise<void> {
  const { context } = request.server;
  const token = createSessionToken();
  const row = await tx.row<{ expires_at: string }>(sql`
    UPDATE sessions SET token_hash = ${context.secrets.hash(token)}, previous_token_hash = NULL,
      token_created_at = ${isoInstant(context.clock.now())}::timestamptz
    WHERE id = ${session_id}::uuid RETURNING expires_at`);
  if (row !== undefined)
    afterwards(async () => setSessionCookie(context, reply, token, Date.parse(row.expires_at)));
}

/** Ends one session at once. */
export async function endSession(tx: Transaction, id: string): Promise<void> {
  await tx.run(sql`DELETE FROM sessions WHERE id = ${id}::uuid`);
}

/** Ends all sessions of the user at once, but the one that is kept; gives how many there were. */
export function endSessions(
  tx: Transaction,
  user_id: number,
  kept: string | null,
): Promise<number> {
  return tx.run(
    sql`DELETE FROM sessions WHERE user_id = ${user_id} AND id IS DISTINCT FROM ${kept}::uuid`,
  );
}

/** Ends the links that were mailed to an address of the user. */
export async function endMailedLinks(tx: Transaction, user_id: number): Promise<void> {
  await tx.run(sql`DELETE FROM user_links WHERE user_id = ${user_id}`);
}

/**
 * Takes away what was set up while nobody had proved the address, as it may be a stranger's: the
 * keys, and the second factor, without which its owner could not come in.
 */
export async function endUnproved(tx: Transaction, user: Identity): Promise<Change[]> {
  const deleted_keys = await deleteKeysOf(tx, user.id);
  await removeSecondFactor(tx, user.id);
  return [
    ...(deleted_keys === 0 ? [] : changesOf(undefined, { deleted_keys })),
    ...(user.has_second_factor
      ? changesOf({ is_2fa_enabled: true }, { is_2fa_enabled: false })
      : []),
  ];
}

/**
 * Gives the account to whom its domain vouches for now: every way in of before ends, because the
 * address may have been somebody else's, or never theirs. The address is proved by that. The caller
 * holds the account.
 */
export async function handOver(
  tx: Transaction,
  secrets: Secrets,
  actor: Actor,
  user: Identity,
): Promise<void> {
  const ended = await endUnproved(tx, user);
  await updateUser(tx, user.id, { password_hash: null, is_email_verified: true });
  await endMailedLinks(tx, user.id);
  await endSessions(tx, user.id, null);
  const { uuid, email, is_email_verified, password_hash } = user;
  const changes = [
    ...(password_hash === null ? [] : [secretChange('password', 'deleted')]),
    ...changesOf({ is_email_verified }, { is_email_verified: true }),
    ...ended,
  ];
  const entry = {
    activity: 'handed_over',
    scope: 'user',
    item_id: uuid,
    item_name: email,
    changes,
  };
  await appendActivity(tx, secrets, { user_uuid: uuid }, actor, entry);
}

async function endShown(tx: Transaction, request: FastifyRequest): Promise<void> {
  const shown = sessionTokenOf(request);
  if (shown === undefined) return;
  const hash = request.server.context.secrets.hash(shown);
  await tx.run(
    sql`DELETE FROM sessions WHERE token_hash = ${hash} OR previous_token_hash = ${hash}`,
  );
}

/** The entry of a person's own log for something that happened to a session of theirs. */
export function sessionEntry(
  activity: string,
  user_uuid: string,
  before: SessionRow | undefined,
  after: SessionRow | undefined,
): Entry {
  const { id, user_agent } = (after ?? before)!;
  return {
    activity,
    scope: 'session',
    item_id: id,
    item_name: user_agent,
    changes: changesOf(before, after, ['last_used_at', 'is_current']),
    chain: { user_uuid },
  };
}

/**
 * The entry for a session that began, by the person whom it is for; `more` is what else is worth
 * knowing of it.
 */
export function beginningEntry(
  user: Pick<Identity, 'id' | 'uuid' | 'email'>,
  session: SessionRow,
  more: Record<string, unknown> = {},
): Entry {
  const begun = { ...session, ...more };
  return { ...sessionEntry('created', user.uuid, undefined, begun), actor: actorOf(user) };
}
