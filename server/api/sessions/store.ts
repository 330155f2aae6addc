import type { FastifyReply, FastifyRequest } from 'fastify';
import sql from 'sql-template-tag';
import { v7 as uuidv7 } from 'uuid';
import { appendActivity } from '../../platform/activity/chain.ts';
import type { Actor } from '../../platform/activity/chain.ts';
import { changesOf, secretChange } from '../../platform/activity/changes.ts';
import type { Change } from '../../platform/activity/changes.ts';
import { isoInstant } from '../../platform/clock.ts';
import { entryWriter } from '../../platform/http/records.ts';
import type { Caller } from '../../platform/http/caller/access.ts';
import { userAgentOf } from '../../platform/http/caller/auth.ts';
import {
  createSessionToken,
  session_idle_ms,
  session_lifetime_ms,
  sessionTokenOf,
  setSessionCookie,
} from '../../platform/http/caller/session.ts';
import type { Afterwards, Entry } from '../../platform/http/write.ts';
import type { Transaction } from '../../platform/postgres/database.ts';
import type { Secrets } from '../../platform/secrets/secrets.ts';
import { deleteKeysOf } from '../api_keys/store.ts';
import { actorOf, removeSecondFactor, updateUser } from '../users/store.ts';
import type { Identity } from '../users/store.ts';
import { rememberDevice } from './devices.ts';
import type { SessionRow } from './schema.ts';

/** The columns of session `s` for the caller. */
export const columnsFor = (caller: Pick<Caller, 'session_id' | 'is_partial'>) => sql`
  s.id, s.method, s.ip, s.user_agent, s.created_at, s.last_used_at, s.expires_at, s.own_factor_at,
    s.awaits_factor, coalesce(s.id = ${caller.session_id}::uuid, false) AS is_current,
    coalesce(s.id = ${caller.session_id}::uuid, false) AND ${caller.is_partial} AS is_partial`;

/** SQL for sessions `s` that are valid. */
export const live = (caller: Pick<Caller, 'user_id'>, now_ms: number) => sql`
  s.user_id = ${caller.user_id} AND s.expires_at > ${isoInstant(now_ms)}::timestamptz
    AND s.last_used_at >= ${isoInstant(now_ms - session_idle_ms)}::timestamptz`;

/**
 * The opening of a session. `shows_own_factor`: by a factor of the account, so it reaches the whole
 * account; otherwise by a provider of the domain, whose settings have this hash.
 */
export type Opening = {
  method: string;
  shows_own_factor: boolean;
  shows_second_factor?: boolean;
  domain_id?: string | null;
  settings_hash?: Buffer | null;
  awaits_factor?: boolean;
};

/** The browser of a sign-in. `afterwards` comes from `write`. */
export type Browser = { request: FastifyRequest; reply: FastifyReply; afterwards: Afterwards };

/**
 * Signs the user in at the browser: a new session with a new token, whose cookie is sent after the
 * commit. Ends the browser's earlier session, also that of another user. The caller has verified
 * the person, that they are active, and their second factor.
 */
export async function startSession(
  tx: Transaction,
  { request, reply, afterwards }: Browser,
  user: { id: number },
  opening: Opening,
): Promise<SessionRow> {
  const { context } = request.server;
  const now = context.clock.now();
  await endShown(tx, request);
  const token = createSessionToken();
  const id = uuidv7();
  const expires_at_ms = now + session_lifetime_ms;
  const user_agent = userAgentOf(request);
  const { method, shows_own_factor, shows_second_factor = false } = opening;
  const { domain_id = null, settings_hash = null, awaits_factor = false } = opening;
  const began = sql`${isoInstant(now)}::timestamptz`;
  const [row] = await tx.rows<SessionRow>(sql`
    INSERT INTO sessions AS s (id, user_id, token_hash, token_created_at, method, ip, user_agent,
      created_at, last_used_at, expires_at, domain_id, provider_settings_hash, awaits_factor,
      own_factor_at, second_factor_at)
    VALUES (${id}, ${user.id}, ${context.secrets.hash(token)}, ${began}, ${method}, ${request.ip},
      ${user_agent}, ${began}, ${began}, ${isoInstant(expires_at_ms)}::timestamptz,
      ${domain_id}::uuid, ${settings_hash}, ${awaits_factor},
      CASE WHEN ${shows_own_factor} THEN ${began} END,
      CASE WHEN ${shows_second_factor} THEN ${began} END)
    RETURNING ${columnsFor({ session_id: id, is_partial: false })}`);
  afterwards(async () => setSessionCookie(context, reply, token, expires_at_ms));
  await rememberDevice(tx, { request, reply, afterwards }, user, row!);
  return row!;
}

/**
 * Gives the session a new token; the old one is refused at once, even in concurrent requests. The
 * cookie is sent after the commit.
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

/**
 * Records that the person proved their identity in the session at the instant (ms). The session now
 * reaches the whole account, and the provider that opened it is trusted for the account.
 */
export async function noteOwnFactor(
  tx: Transaction,
  session_id: string,
  shows_second_factor: boolean,
  now_ms: number,
): Promise<void> {
  const now = sql`${isoInstant(now_ms)}::timestamptz`;
  await tx.run(sql`UPDATE sessions SET own_factor_at = ${now}, awaits_factor = false,
    second_factor_at = CASE WHEN ${shows_second_factor} THEN ${now} ELSE second_factor_at END
    WHERE id = ${session_id}::uuid`);
  await tx.run(sql`UPDATE social_identities i SET trusted_settings_hash = s.provider_settings_hash
    FROM sessions s WHERE s.id = ${session_id}::uuid AND i.user_id = s.user_id
      AND i.provider = s.method || ':' || s.domain_id`);
}

/** Records that a second factor was set up in the session, which proves it. */
export async function noteSecondFactor(
  tx: Transaction,
  session_id: string | null,
  now_ms: number,
): Promise<void> {
  await tx.run(sql`UPDATE sessions SET second_factor_at = ${isoInstant(now_ms)}::timestamptz
    WHERE id = ${session_id}::uuid`);
}

/** Ends one session at once. */
export async function endSession(tx: Transaction, id: string): Promise<void> {
  await tx.run(sql`DELETE FROM sessions WHERE id = ${id}::uuid`);
}

/** Ends all sessions of the user at once, except the kept one; returns their number. */
export function endSessions(
  tx: Transaction,
  user_id: number,
  kept: string | null,
): Promise<number> {
  return tx.run(
    sql`DELETE FROM sessions WHERE user_id = ${user_id} AND id IS DISTINCT FROM ${kept}::uuid`,
  );
}

/** Invalidates the links that were mailed to the user. */
export async function endMailedLinks(tx: Transaction, user_id: number): Promise<void> {
  await tx.run(sql`DELETE FROM user_links WHERE user_id = ${user_id}`);
}

/**
 * Deletes everything that was set up before the address was verified, because a stranger may have
 * done it: the keys, and the second factor, which would keep the owner out.
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
 * Gives the account to the person whom its domain vouches for: all former ways to sign in end,
 * because the address may have belonged to another person. This verifies the address. The caller
 * holds the lock on the account.
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

/** Returns the entry of a person's own log about one of their sessions. */
export function sessionEntry(
  activity: string,
  user_uuid: string,
  before: SessionRow | undefined,
  after: SessionRow | undefined,
): Entry {
  return { ...entryOf(activity, before, after), chain: { user_uuid } };
}

const entryOf = entryWriter('session', ({ user_agent }: SessionRow) => user_agent, [
  'last_used_at',
  'is_current',
]);

/** Returns the entry for a new session by its person; `more` adds details. */
export function beginningEntry(
  user: Pick<Identity, 'id' | 'uuid' | 'email'>,
  session: SessionRow,
  more: Record<string, unknown> = {},
): Entry {
  const begun = { ...session, ...more };
  return { ...sessionEntry('created', user.uuid, undefined, begun), actor: actorOf(user) };
}
