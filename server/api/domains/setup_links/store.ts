import type { FastifyRequest } from 'fastify';
import sql from 'sql-template-tag';
import { v7 as uuidv7 } from 'uuid';
import { isoInstant } from '../../../platform/clock.ts';
import { maskApiKey, randomBase62 } from '../../../platform/http/caller/api_key.ts';
import { notFound, throttled } from '../../../platform/http/errors.ts';
import { listOf } from '../../../platform/http/lists/pagination.ts';
import type { List } from '../../../platform/http/lists/pagination.ts';
import type { Queryable, Transaction } from '../../../platform/postgres/database.ts';
import { locking } from '../../../platform/postgres/locking.ts';
import type { Secrets } from '../../../platform/secrets/secrets.ts';
import { user_json } from '../../users/store.ts';
import type { DomainRow } from '../schema.ts';
import { findDomain } from '../store.ts';
import type { SetupLinkRow } from './schema.ts';

const pattern = /^sll_[0-9A-Za-z]{43}$/;
const touch_interval_ms = 60_000;

/** The link that opened a page, and the organization of its domain. */
export type OpenLink = Pick<SetupLinkRow, 'id' | 'name' | 'mask_value' | 'expires_at'> & {
  domain_id: string;
  organization_id: string;
  organization_name: string;
};

const columns = sql`l.id, l.name, l.mask_value, l.created_at, l.expires_at, l.last_used_at,
  (SELECT ${user_json} FROM users u WHERE u.id = l.maker_id) AS created_by`;

/**
 * SQL that is true if the link `l` is valid for its domain `d` at the instant. It has not expired,
 * the domain has the same name and organization, and its creator is still an owner.
 */
const isLive = (now_ms: number) => sql`l.expires_at > ${isoInstant(now_ms)}::timestamptz
  AND d.organization_id = l.organization_id AND d.domain = l.domain
  AND EXISTS (SELECT 1 FROM members m JOIN users u ON u.id = m.user_id AND u.is_active
    WHERE m.user_id = l.maker_id AND m.organization_id = l.organization_id AND m.level = 15)`;

/** Lists the valid links of the domain, newest first (ties by id). Uses setup_links_by_domain. */
export function listSetupLinks(domain_id: string, now_ms: number): List {
  const from = sql`setup_links l JOIN domains d ON d.id = l.domain_id
    WHERE l.domain_id = ${domain_id}::uuid AND ${isLive(now_ms)}`;
  return listOf(columns, from, sql`l.created_at DESC, l.id DESC`);
}

/** Returns the link of the domain; with `lock`, it cannot be deleted until the transaction ends. */
export function findSetupLink(
  db: Queryable,
  domain_id: string,
  id: string,
  lock?: 'lock',
): Promise<SetupLinkRow | undefined> {
  return db.row<SetupLinkRow>(sql`SELECT ${columns} FROM setup_links l
    WHERE l.domain_id = ${domain_id}::uuid AND l.id = ${id}::uuid ${locking(lock, 'FOR UPDATE')}`);
}

/** Deletes the invalid links of the domain, and returns the number of valid ones. */
export async function countLiveLinks(
  tx: Transaction,
  domain_id: string,
  now_ms: number,
): Promise<number> {
  await tx.run(sql`DELETE FROM setup_links l USING domains d WHERE d.id = l.domain_id
    AND l.domain_id = ${domain_id}::uuid AND NOT (${isLive(now_ms)})`);
  const row = await tx.row<{ count: number }>(
    sql`SELECT count(*)::integer AS count FROM setup_links WHERE domain_id = ${domain_id}::uuid`,
  );
  return row!.count;
}

/**
 * Stores the HMAC of a new token and returns the link with the token, which is never shown again.
 * The caller holds the lock on the domain.
 */
export async function insertSetupLink(
  tx: Transaction,
  secrets: Secrets,
  link: { organization_id: string; domain: DomainRow; name: string; maker_id: number },
  { created_at, expires_at }: { created_at: string; expires_at: string },
): Promise<{ created: SetupLinkRow; token: string }> {
  const token = `sll_${randomBase62()}`;
  const id = uuidv7();
  await tx.run(sql`
    INSERT INTO setup_links (id, domain_id, organization_id, domain, name, maker_id, token_hash,
      mask_value, created_at, expires_at)
    VALUES (${id}::uuid, ${link.domain.id}::uuid, ${link.organization_id}::uuid,
      ${link.domain.domain}, ${link.name}, ${link.maker_id}, ${hashOf(secrets, token)},
      ${maskApiKey(token)}, ${created_at}::timestamptz, ${expires_at}::timestamptz)`);
  return { created: (await findSetupLink(tx, link.domain.id, id))!, token };
}

/** Ends the link at once. */
export async function deleteSetupLink(tx: Transaction, id: string): Promise<void> {
  await tx.run(sql`DELETE FROM setup_links WHERE id = ${id}::uuid`);
}

/** Removes links that expired before the instant. */
export async function sweepSetupLinks(db: Queryable, now_ms: number): Promise<void> {
  await db.run(sql`DELETE FROM setup_links WHERE expires_at <= ${isoInstant(now_ms)}::timestamptz`);
}

/**
 * Returns the link with this token, and its domain. Throws the same 404 for a token that is
 * unknown, expired, revoked or for another domain by now, and counts it against the client's
 * address. A link has the rate limit of a key. In a transaction, `hold` locks domain and link until
 * the end.
 */
export async function openLink(
  request: FastifyRequest,
  db: Queryable,
  token: string,
  hold?: 'hold',
): Promise<{ link: OpenLink; domain: DomainRow }> {
  const { server, ip } = request;
  const { secrets, clock } = server.context;
  const now_ms = clock.now();
  const find = (lock?: 'lock') =>
    db.row<OpenLink>(sql`
      SELECT l.id, l.name, l.mask_value, l.expires_at, l.domain_id, o.id AS organization_id,
        o.name AS organization_name
      FROM setup_links l JOIN domains d ON d.id = l.domain_id
        JOIN organizations o ON o.id = d.organization_id
      WHERE l.token_hash = ${hashOf(secrets, token)} AND ${isLive(now_ms)}
      ${locking(lock, 'FOR SHARE OF l')}`);
  const found = pattern.test(token) ? await find() : undefined;
  const domain =
    found && (await findDomain(db, found.organization_id, found.domain_id, hold && 'lock'));
  // It may have been revoked while this waited for the domain's lock.
  const link = hold === undefined ? found : domain && (await find('lock'));
  if (link === undefined || domain === undefined) {
    const wait_seconds = server.limiter.takeRefused(ip);
    throw wait_seconds === undefined ? notFound() : throttled(wait_seconds);
  }
  const budget = hold === undefined ? server.limiter.take(`setup_link:${link.id}`) : undefined;
  if (budget?.wait_seconds !== undefined) throw throttled(budget.wait_seconds);
  return { link, domain };
}

/** Updates `last_used_at` of the link, at most once a minute. */
export async function touchLink(db: Queryable, id: string, now_ms: number): Promise<void> {
  const before = isoInstant(now_ms - touch_interval_ms);
  await db.run(sql`UPDATE setup_links SET last_used_at = ${isoInstant(now_ms)}::timestamptz
    WHERE id = ${id}::uuid AND (last_used_at IS NULL OR last_used_at <= ${before}::timestamptz)`);
}

/** Keyed apart from other tokens, so a link's token never has the hash of a key. */
function hashOf(secrets: Secrets, token: string): Buffer {
  return secrets.hash(`setup link ${token}`);
}
