import sql from 'sql-template-tag';
import { liesIn } from '../../platform/http/caller/mount.ts';
import type { Place } from '../../platform/http/caller/mount.ts';
import { listOf } from '../../platform/http/lists/pagination.ts';
import type { List } from '../../platform/http/lists/pagination.ts';
import { assignments } from '../../platform/postgres/assignments.ts';
import type { Queryable, Transaction } from '../../platform/postgres/database.ts';
import { locking } from '../../platform/postgres/locking.ts';
import { managedBy } from '../managed/store.ts';
import type { NoticeTargetRow } from './schema.ts';

// Each column is named, so no sealed value can slip in.
const columns = sql`t.id, t.team_id, t.type, t.name, t.address, t.url, t.events, t.batch_export_ids,
  t.enabled, t.disabled_reason, t.last_attempt, t.last_test, t.created_at, t.last_updated_at,
  ${managedBy('notice_target', sql`t.id`)} AS managed_by`;

const isInPlace = (place: Place) => liesIn(place, sql`t.team_id`);

/** Lists the targets of a place, newest first (ties by id). Uses notice_targets_by_project. */
export function listNoticeTargets(place: Place): List {
  return listOf(
    columns,
    sql`notice_targets t WHERE ${isInPlace(place)}`,
    sql`t.created_at DESC, t.id DESC`,
  );
}

/** Lists the settings of all targets of an organization with their sealed values, oldest first. */
export function listTargetSettings(
  db: Queryable,
  organization_id: string,
): Promise<(NoticeTargetFields & Pick<NoticeTargetRow, 'id' | 'team_id' | 'type'>)[]> {
  return db.rows(sql`SELECT ${columns}, t.url_sealed, t.secret FROM notice_targets t
    WHERE ${isInPlace({ organization_id })} ORDER BY t.created_at, t.id`);
}

/**
 * Returns the target; with `lock`, nobody else can change or delete it until the transaction ends.
 */
export function findNoticeTarget(
  db: Queryable,
  place: Place,
  id: string,
  lock?: 'lock',
): Promise<NoticeTargetRow | undefined> {
  return db.row<NoticeTargetRow>(sql`
    SELECT ${columns} FROM notice_targets t WHERE t.id = ${id}::uuid
      AND ${isInPlace(place)} ${locking(lock, 'FOR UPDATE')}`);
}

/**
 * Columns that a POST or PATCH sets. `url` is the shown part of the address, `url_sealed` the whole
 * address, and `secret` is sealed.
 */
export type NoticeTargetFields = Pick<
  NoticeTargetRow,
  'name' | 'address' | 'url' | 'events' | 'batch_export_ids' | 'enabled'
> & {
  url_sealed: Buffer | null;
  secret: Buffer | null;
};

/**
 * Columns that only a change resets: a new receiver has not asked for a pause, and an enabled
 * target has no reason to be off.
 */
type ChangedFields = NoticeTargetFields & { held_until: null; disabled_reason: null };

/** Adds a target. */
export async function insertNoticeTarget(
  tx: Transaction,
  row: NoticeTargetFields &
    Pick<NoticeTargetRow, 'id' | 'team_id' | 'type'> & { created_by: number | null },
): Promise<void> {
  await tx.run(sql`
    INSERT INTO notice_targets (id, team_id, type, name, address, url, url_sealed, secret, events,
      batch_export_ids, enabled, created_by)
    VALUES (${row.id}, ${row.team_id}, ${row.type}, ${row.name}, ${row.address}, ${row.url},
      ${row.url_sealed}, ${row.secret}, ${row.events}, ${row.batch_export_ids}::uuid[],
      ${row.enabled}, ${row.created_by})`);
}

/**
 * Applies the sent fields; without one, `last_updated_at` stays unchanged. The caller holds the
 * lock.
 */
export async function updateNoticeTarget(
  tx: Transaction,
  id: string,
  changes: Partial<ChangedFields>,
): Promise<void> {
  if (Object.keys(changes).length === 0) return;
  await tx.run(
    sql`UPDATE notice_targets SET ${assignments(changes)}, last_updated_at = now()
      WHERE id = ${id}::uuid`,
  );
}

/** Records the result of a test, and changes nothing else. */
export async function noteTest(
  db: Queryable,
  id: string,
  last_test: NonNullable<NoticeTargetRow['last_test']>,
): Promise<void> {
  await db.run(sql`UPDATE notice_targets SET last_test = ${JSON.stringify(last_test)}::jsonb
    WHERE id = ${id}::uuid`);
}

/** Deletes the target; its waiting notices are dropped. */
export async function deleteNoticeTarget(tx: Transaction, id: string): Promise<void> {
  await tx.run(sql`DELETE FROM notice_targets WHERE id = ${id}::uuid`);
}

/** Lists those ids that are existing exports of the project. */
export async function listKnownExports(
  db: Queryable,
  team_id: number,
  ids: string[],
): Promise<string[]> {
  const rows = await db.rows<{ id: string }>(
    sql`SELECT id FROM batch_exports WHERE team_id = ${team_id} AND deleted_at IS NULL
      AND id = ANY (${ids}::uuid[])`,
  );
  return rows.map((row) => row.id);
}
