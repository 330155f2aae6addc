import sql, { join } from 'sql-template-tag';
import type { Sql } from 'sql-template-tag';
import type { Caller } from '../../platform/http/caller/access.ts';
import { fittingRows } from '../../platform/http/lists/fitting_rows.ts';
import { keysetCondition, keysetOrder } from '../../platform/http/lists/cursor.ts';
import type { Keyset } from '../../platform/http/lists/cursor.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import type { LoggedRow, ActivityWanted } from './schema.ts';

/** Members from this level on see the IP addresses of others. */
export const level_of_addresses = 8;

/** The chain to read, and its reader: only administrators see the IP addresses of others. */
export type ActivityView = { chain_id: string; caller: Caller; sees_addresses: boolean };

/** Selects the fields of entry `a` for this reader. */
export const activityColumns = ({ caller, sees_addresses }: Omit<ActivityView, 'chain_id'>) => sql`
  a.id, a.number, a.activity, a.scope, a.item_id, a.item_name, a.changes,
  CASE WHEN a.user_uuid IS NOT NULL THEN json_build_object('uuid', a.user_uuid, 'email',
    a.user_email) END AS "user",
  CASE WHEN a.key_id IS NOT NULL THEN json_build_object('id', a.key_id, 'mask_value',
    a.key_mask) END AS key,
  a.session_id, CASE WHEN ${sees_addresses}::boolean
    OR a.user_uuid = ${caller.user_uuid}::uuid THEN a.ip END AS ip, a.request_id, a.created_at,
  encode(a.hash, 'hex') AS hash`;

/** Returns a page that is read at once, and its keyset: see `fittingRows`. */
export async function listedActivity(
  db: Queryable,
  view: ActivityView,
  keyset: Keyset,
  wanted: ActivityWanted,
): Promise<[Keyset, LoggedRow[]]> {
  const limit = await fittingRows(db, selectActivity(view, keyset, wanted), keyset.limit);
  const read = { ...keyset, limit };
  return [read, await listActivity(db, view, read, wanted)];
}

/**
 * Lists the entries of one page and one more, in the order of their numbers. Uses
 * activity_number_unique, and for selective filters activity_by_user, activity_by_key,
 * activity_by_scope, activity_by_item or activity_by_instant. The statement only contains the
 * requested filters, so that the planner can choose the right index.
 */
export function listActivity(
  db: Queryable,
  view: ActivityView,
  keyset: Keyset,
  wanted: ActivityWanted,
): Promise<LoggedRow[]> {
  return db.rows<LoggedRow>(selectActivity(view, keyset, wanted));
}

/** A service key or link keeps its name in entries, also after it was revoked. */
const key_name = sql`CASE WHEN a.user_uuid IS NULL AND a.key_id IS NOT NULL THEN (
  SELECT about.item_name FROM activity about WHERE about.chain_id = a.chain_id
    AND about.item_id = a.key_id::text AND about.scope IN ('service_key', 'setup_link')
  ORDER BY about.number DESC LIMIT 1) END`;

function selectActivity(view: ActivityView, keyset: Keyset, wanted: ActivityWanted): Sql {
  return sql`
    SELECT ${activityColumns(view)}, ${key_name} AS key_name FROM activity a
    WHERE
      ${join(
        [
          sql`a.chain_id =
      ${view.chain_id}::uuid`,
          keysetCondition(keyset),
          ...conditions(wanted),
        ],
        ' AND ',
      )}
    ${keysetOrder(keyset)}`;
}

function conditions(wanted: ActivityWanted): Sql[] {
  const { user, key, scope, activity, item_id, after, before, after_number } = wanted;
  return [
    ...(user === undefined ? [] : [sql`a.user_uuid = ${user}::uuid`]),
    ...(key === undefined ? [] : [sql`a.key_id = ${key}::uuid`]),
    ...(scope === undefined ? [] : [sql`a.scope = ${scope}`]),
    ...(activity === undefined ? [] : [sql`a.activity = ${activity}`]),
    ...(item_id === undefined ? [] : [sql`a.item_id = ${item_id}`]),
    ...(after === undefined ? [] : [sql`a.created_at >= ${after}::timestamptz`]),
    ...(before === undefined ? [] : [sql`a.created_at < ${before}::timestamptz`]),
    ...(after_number === undefined ? [] : [sql`a.number > ${after_number}::bigint`]),
  ];
}
