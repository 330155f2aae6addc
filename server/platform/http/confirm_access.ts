import type { FastifyRequest } from 'fastify';
import sql, { raw } from 'sql-template-tag';
import type { Sql } from 'sql-template-tag';
import { isoInstant } from '../clock.ts';
import type { Transaction } from '../postgres/database.ts';
import { isPerson } from './caller/access.ts';
import type { Access } from './caller/access.ts';
import { isClosedToAgent } from './caller/agent.ts';
import { requireLevel } from './caller/guard.ts';
import { closedTo, refuseClosed } from './caller/entrance.ts';
import { notFound, unauthenticated } from './errors.ts';
import type { ApiError } from './errors.ts';

type Standing = Pick<Access, 'level'> & {
  is_valid: boolean;
  closed: string | null;
  has_project: boolean;
};

/**
 * Locks the caller's membership, or their service key, until the transaction ends (FOR SHARE), and
 * applies a level that changed since the request arrived. The request may have waited for a lock.
 * So the key or session must still be valid, the organization still accessible without a second
 * factor, and the project must still exist. The lock order is always the organization before the
 * member or key. Returns whether the organization is closed to the requesting agent.
 */
export async function confirmAccess(tx: Transaction, request: FastifyRequest): Promise<boolean> {
  const { access, caller } = request;
  if (access === undefined) return false;
  const { level: wanted = 1, locks_organization = false } = request.routeOptions.config;
  // Sent together: each statement sees what was committed while the earlier ones waited.
  const locked = locks_organization
    ? tx.row(
        sql`SELECT 1 FROM organizations WHERE id = ${access.organization_id}::uuid
          FOR NO KEY UPDATE`,
      )
    : undefined;
  const closing = isClosedToAgent(tx, request, access.organization_id);
  const holder = isPerson(caller)
    ? sql`members m WHERE m.user_id = ${caller.user_id}
      AND m.organization_id = ${access.organization_id}::uuid`
    : sql`service_keys m WHERE m.id = ${caller.key_id}::uuid
      AND m.organization_id = ${access.organization_id}::uuid`;
  const holding = tx.row(sql`SELECT 1 FROM ${holder} FOR SHARE`);
  const looking = tx.row<Standing>(sql`
    SELECT m.level, ${isCredentialValid(request)} AS is_valid,
      ${isPerson(caller) ? closedAt(request) : raw('NULL::text')} AS closed,
      ${access.team_id ?? null}::integer IS NULL
        OR EXISTS (SELECT 1 FROM projects WHERE id = ${access.team_id ?? null}) AS has_project
    FROM ${holder}`);
  const [, is_closed, member, standing] = await Promise.all([locked, closing, holding, looking]);
  if (member === undefined) throw isPerson(caller) ? notFound() : ended();
  if (standing === undefined || !standing.has_project) throw notFound();
  if (!standing.is_valid) throw ended();
  refuseClosed(standing.closed);
  requireLevel(standing.level, wanted);
  request.access = { ...access, level: standing.level };
  return is_closed;
}

/**
 * Waits for every write in progress in the organization, and holds back new ones until this
 * transaction ends. Cascading deletes need it: otherwise they lock a writer's rows in another order
 * than the writer, and deadlock until both fail after three tries. The route must have
 * `locks_organization`, so that two of these cannot deadlock.
 */
export async function lockOutWriters(tx: Transaction, organization_id: string): Promise<void> {
  await tx.rows(
    sql`SELECT 1 FROM members WHERE organization_id = ${organization_id}::uuid ORDER BY id
      FOR UPDATE`,
  );
  await tx.rows(
    sql`SELECT 1 FROM service_keys WHERE organization_id = ${organization_id}::uuid ORDER BY id
      FOR UPDATE`,
  );
}

/** Returns why the organization is closed to the person of membership `m`. */
function closedAt({ caller }: FastifyRequest): Sql {
  return sql`(SELECT ${closedTo(caller)} FROM organizations o WHERE o.id = m.organization_id)`;
}

/**
 * For the caller's own things outside organizations: throws 401 if the key or session ended while
 * the request waited for a lock.
 */
export async function confirmCaller(tx: Transaction, request: FastifyRequest): Promise<void> {
  const found = await tx.row<{ is_valid: boolean }>(
    sql`SELECT ${isCredentialValid(request)} AS is_valid`,
  );
  if (found?.is_valid !== true) throw ended();
}

/**
 * Returns false once the caller's key or session has ended, or their account is closed. The same
 * holds if they are no longer a member of the organization with the level of the route (null: the
 * caller's own things). Called during a long answer.
 */
export async function mayGoOn(
  request: FastifyRequest,
  organization_id: string | null,
): Promise<boolean> {
  const { level = 1 } = request.routeOptions.config;
  const { caller } = request;
  const holder = isPerson(caller)
    ? sql`members m WHERE m.user_id = ${caller.user_id}`
    : sql`service_keys m WHERE m.id = ${caller.key_id}::uuid`;
  const row = await request.server.context.db.row(sql`
    SELECT 1 WHERE ${isCredentialValid(request)} AND (${organization_id}::uuid IS NULL
      OR EXISTS (SELECT 1 FROM ${holder} AND m.organization_id = ${organization_id}::uuid
        AND m.level >= ${level}))`);
  return row !== undefined;
}

/**
 * Returns SQL that is true if the key or session of the request is valid and its user, if it has
 * one, is active.
 */
function isCredentialValid({ caller, server }: FastifyRequest): Sql {
  const now = isoInstant(server.context.clock.now());
  if (!isPerson(caller))
    return sql`EXISTS (SELECT 1 FROM service_keys c WHERE c.id = ${caller.key_id}::uuid
      AND (c.expires_at IS NULL OR c.expires_at > ${now}::timestamptz))`;
  return caller.key_id === null
    ? sql`EXISTS (SELECT 1 FROM sessions c JOIN users u ON u.id = c.user_id AND u.is_active
        WHERE c.id = ${caller.session_id}::uuid AND c.expires_at > ${now}::timestamptz)`
    : sql`EXISTS (SELECT 1 FROM personal_api_keys c JOIN users u ON u.id = c.user_id AND u.is_active
        WHERE c.id = ${caller.key_id}::uuid AND (c.expires_at IS NULL
          OR c.expires_at > ${now}::timestamptz))`;
}

function ended(): ApiError {
  return unauthenticated(
    'authentication_failed',
    'The key or session ended while the request waited.',
  );
}
