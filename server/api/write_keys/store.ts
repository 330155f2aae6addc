import sql from 'sql-template-tag';
import { v7 as uuidv7 } from 'uuid';
import { isoInstant } from '../../platform/clock.ts';
import { keysIn } from '../../platform/http/caller/keys_in.ts';
import { createWriteKey } from '../../platform/http/caller/write_key.ts';
import { listOf } from '../../platform/http/lists/pagination.ts';
import type { List } from '../../platform/http/lists/pagination.ts';
import type { Queryable, Transaction } from '../../platform/postgres/database.ts';
import { locking } from '../../platform/postgres/locking.ts';
import { managedBy } from '../managed/store.ts';
import type { ProjectTraffic } from '../projects/schema.ts';
import type { WriteKeyRow } from './schema.ts';

const columns = sql`k.id, k.name, k.value, k.expires_at, k.last_used_at, k.created_at,
  k.updated_at, ${managedBy('write_key', sql`k.id`)} AS managed_by`;

/** Lists the project's keys, newest first (ties by id). Uses write_keys_by_project. */
export function listWriteKeys(team_id: number): List {
  return listOf(
    columns,
    sql`write_keys k WHERE k.team_id = ${team_id}`,
    sql`k.created_at DESC, k.id DESC`,
  );
}

/** Lists the keys of all projects of an organization that were not rotated, oldest first. */
export function listKeptWriteKeys(
  db: Queryable,
  organization_id: string,
): Promise<{ id: string; team_id: number; name: string }[]> {
  return db.rows(sql`SELECT k.id, k.team_id, k.name FROM write_keys k
    JOIN projects p ON p.id = k.team_id WHERE p.organization_id = ${organization_id}::uuid
      AND k.rolled_at IS NULL ORDER BY k.created_at, k.id`);
}

/** Returns the project's key; with `lock`, nobody else can change it until the transaction ends. */
export function findWriteKey(
  db: Queryable,
  team_id: number,
  id: string,
  lock?: 'lock',
): Promise<WriteKeyRow | undefined> {
  return db.row<WriteKeyRow>(
    sql`SELECT ${columns} FROM write_keys k WHERE k.id = ${id}::uuid AND k.team_id = ${team_id}
      ${locking(lock, 'FOR UPDATE')}`,
  );
}

/**
 * Counts the working keys of the project. Locks the project until the transaction ends, so that
 * creating two keys at once counts both.
 */
export async function countLiveWriteKeys(
  tx: Transaction,
  team_id: number,
  now_ms: number,
): Promise<number> {
  await tx.row(sql`SELECT 1 FROM projects WHERE id = ${team_id} FOR NO KEY UPDATE`);
  const row = await tx.row<{ count: number }>(sql`
    SELECT count(*) AS count FROM write_keys WHERE team_id = ${team_id}
      AND (expires_at IS NULL OR expires_at > ${isoInstant(now_ms)}::timestamptz)`);
  return row!.count;
}

/** Adds a key with a new value. */
export async function insertWriteKey(
  tx: Transaction,
  team_id: number,
  name: string,
): Promise<WriteKeyRow> {
  const [row] = await tx.rows<WriteKeyRow>(sql`
    INSERT INTO write_keys AS k (id, team_id, name, value)
    VALUES (${uuidv7()}, ${team_id}, ${name}, ${createWriteKey()}) RETURNING ${columns}`);
  return row!;
}

/** Renames the key. The caller holds the lock. */
export async function renameWriteKey(tx: Transaction, id: string, name: string): Promise<void> {
  await tx.run(
    sql`UPDATE write_keys SET name = ${name}, updated_at = now() WHERE id = ${id}::uuid`,
  );
}

/** The successor of a key, and its end. */
export const {
  isRolled,
  markRolled,
  remove: deleteWriteKey,
} = keysIn(sql`write_keys`, sql`, updated_at = now()`);

/** The access of a write key; `id` is null for the project's own `api_token`. */
export type WriteAccess = ProjectTraffic & {
  team_id: number;
  id: string | null;
  last_used_at: string | null;
};

/**
 * Returns the projects of write keys, by key, in one statement, without unknown, expired and
 * revoked keys. Uses the unique indexes of both.
 */
export async function findWriteAccess(
  db: Queryable,
  values: string[],
  now_ms: number,
): Promise<Map<string, WriteAccess>> {
  const rows = await db.rows<WriteAccess & { value: string }>(sql`
    SELECT k.value, k.team_id, k.id, k.last_used_at, p.robot_events, p.internal_events,
        p.internal_addresses
      FROM write_keys k JOIN projects p ON p.id = k.team_id
      WHERE k.value = ANY (${values}::text[])
        AND (k.expires_at IS NULL OR k.expires_at > ${isoInstant(now_ms)}::timestamptz)
    UNION ALL SELECT p.api_token, p.id, NULL, NULL, p.robot_events, p.internal_events,
        p.internal_addresses
      FROM projects p WHERE p.api_token = ANY (${values}::text[])`);
  return new Map(rows.map(({ value, ...access }) => [value, access]));
}

/** Updates `last_used_at`, unless it was updated after `before_ms`. */
export async function touchWriteKey(
  db: Queryable,
  id: string,
  now_ms: number,
  before_ms: number,
): Promise<void> {
  await db.rows(sql`UPDATE write_keys SET last_used_at = ${isoInstant(now_ms)}::timestamptz
    WHERE id = ${id}::uuid AND (last_used_at IS NULL
      OR last_used_at <= ${isoInstant(before_ms)}::timestamptz)`);
}
