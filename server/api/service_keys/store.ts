import sql from 'sql-template-tag';
import type { Static } from 'typebox';
import { v7 as uuidv7 } from 'uuid';
import { isoInstant } from '../../platform/clock.ts';
import { createApiKey, maskApiKey } from '../../platform/http/caller/api_key.ts';
import { keysIn } from '../../platform/http/caller/keys_in.ts';
import { listOf } from '../../platform/http/lists/pagination.ts';
import type { List } from '../../platform/http/lists/pagination.ts';
import { assignments } from '../../platform/postgres/assignments.ts';
import type { Queryable, Transaction } from '../../platform/postgres/database.ts';
import { locking } from '../../platform/postgres/locking.ts';
import type { Secrets } from '../../platform/secrets/secrets.ts';
import { limitOf } from '../api_keys/store.ts';
import { user_json } from '../users/store.ts';
import type {
  CurrentServiceKey,
  ServiceKeyChanges,
  ServiceKeyFields,
  ServiceKeyRow,
} from './schema.ts';

const columns = sql`
  k.id, k.name, k.mask_value, k.level, k.scopes, coalesce(k.scoped_teams, '{}') AS scoped_teams,
  k.allowed_ip_ranges, k.expires_at, k.last_used_at, k.last_used_ip, k.last_used_user_agent,
  (SELECT ${user_json} FROM users u WHERE u.id = k.created_by) AS created_by,
  EXISTS (SELECT 1 FROM members m JOIN users u ON u.id = m.user_id AND u.is_active
    WHERE m.user_id = k.created_by AND m.organization_id = k.organization_id AND m.level >= 8)
    AS is_creator_administrator, k.created_at`;

/** Lists the service keys of an organization, newest first (ties by id). */
export function listServiceKeys(organization_id: string): List {
  const from = sql`service_keys k WHERE k.organization_id = ${organization_id}::uuid`;
  return listOf(columns, from, sql`k.created_at DESC, k.id DESC`);
}

/**
 * Returns the key of the organization; with `lock`, nobody else can change it until the transaction
 * ends.
 */
export function findServiceKey(
  db: Queryable,
  organization_id: string,
  id: string,
  lock?: 'lock',
): Promise<ServiceKeyRow | undefined> {
  return db.row<ServiceKeyRow>(sql`SELECT ${columns} FROM service_keys k
    WHERE k.id = ${id}::uuid AND k.organization_id = ${organization_id}::uuid
    ${locking(lock, 'FOR UPDATE OF k')}`);
}

/** Returns the service key of a request, with its organization. */
export function findCurrentServiceKey(
  db: Queryable,
  id: string,
): Promise<Static<typeof CurrentServiceKey> | undefined> {
  return db.row(
    sql`SELECT ${columns}, k.organization_id FROM service_keys k WHERE k.id = ${id}::uuid`,
  );
}

/** Counts the organization's working keys. The caller holds the organization's lock. */
export async function countLiveServiceKeys(
  tx: Transaction,
  organization_id: string,
  now_ms: number,
): Promise<number> {
  const row = await tx.row<{ count: number }>(sql`
    SELECT count(*) AS count FROM service_keys WHERE organization_id = ${organization_id}::uuid
      AND (expires_at IS NULL OR expires_at > ${isoInstant(now_ms)}::timestamptz)`);
  return row!.count;
}

/** Returns those projects that belong to the organization. */
export async function findProjectsOf(
  db: Queryable,
  organization_id: string,
  ids: number[],
): Promise<Set<number>> {
  const rows = await db.rows<{ id: number }>(sql`SELECT id FROM projects
    WHERE organization_id = ${organization_id}::uuid AND id = ANY (${ids}::integer[])`);
  return new Set(rows.map(({ id }) => id));
}

/**
 * Stores the HMAC of a new key and returns the row with the key in `value`, which is never shown
 * again.
 */
export async function insertServiceKey(
  tx: Queryable,
  secrets: Secrets,
  fields: Omit<ServiceKeyFields, 'scopes'> & {
    scopes: string[];
    organization_id: string;
    created_by: number;
  },
): Promise<ServiceKeyRow & { value: string }> {
  const value = createApiKey('service');
  const id = uuidv7();
  await tx.run(sql`
    INSERT INTO service_keys (id, organization_id, name, key_hash, mask_value, level, scopes,
      scoped_teams, allowed_ip_ranges, created_by, expires_at)
    VALUES (${id}, ${fields.organization_id}::uuid, ${fields.name}, ${secrets.hash(value)},
      ${maskApiKey(value)}, ${fields.level ?? 1}, ${fields.scopes},
      ${limitOf(fields.scoped_teams)}::integer[], ${fields.allowed_ip_ranges ?? []}::text[],
      ${fields.created_by}, ${fields.expires_at ?? null}::timestamptz)`);
  return { ...(await findServiceKey(tx, fields.organization_id, id))!, value };
}

/** Applies the sent fields. The caller holds the lock of the key. */
export async function updateServiceKey(
  tx: Transaction,
  id: string,
  changes: ServiceKeyChanges,
): Promise<void> {
  if (Object.keys(changes).length === 0) return;
  const { scoped_teams, ...plain } = changes;
  const values = {
    ...plain,
    ...('expires_at' in changes ? { expiry_warned_days: null } : {}),
    ...(scoped_teams === undefined ? {} : { scoped_teams: limitOf(scoped_teams) }),
  };
  await tx.run(sql`UPDATE service_keys SET ${assignments(values)} WHERE id = ${id}::uuid`);
}

/** The successor of a key, and its end. */
export const {
  isRolled: isServiceKeyRolled,
  markRolled: markServiceKeyRolled,
  remove: deleteServiceKey,
} = keysIn(sql`service_keys`);

/** A service key that expires soon. */
export type ExpiringServiceKey = Pick<
  ServiceKeyRow,
  'id' | 'name' | 'mask_value' | 'last_used_at'
> & { expires_at: string; organization_id: string };

/**
 * Returns the key that expires soonest and whose warning of 14 days or 1 day is due at `now` (ms);
 * undefined if none is due. Records the warning as sent. Skips a warning that was already past when
 * the key was created, and keys with a successor. Skips rows that another process has locked. Uses
 * service_keys_by_expiry.
 */
export function takeServiceKeyWarning(
  tx: Transaction,
  now: number,
): Promise<ExpiringServiceKey | undefined> {
  const moment = isoInstant(now);
  const step = sql`CASE WHEN k.expires_at <= ${moment}::timestamptz + interval '1 day'
    THEN 1 ELSE 14 END`;
  return tx.row<ExpiringServiceKey>(sql`
    UPDATE service_keys k SET expiry_warned_days = ${step}
    WHERE k.id = (SELECT k.id FROM service_keys k
      WHERE k.expires_at > ${moment}::timestamptz
        AND k.expires_at <= ${moment}::timestamptz + interval '14 days'
        AND k.created_at < k.expires_at - ${step} * interval '1 day' AND k.rolled_at IS NULL
        AND (k.expiry_warned_days IS NULL OR k.expiry_warned_days > ${step})
      ORDER BY k.expires_at LIMIT 1 FOR UPDATE OF k SKIP LOCKED)
    RETURNING k.id, k.name, k.mask_value, k.last_used_at, k.expires_at, k.organization_id`);
}
