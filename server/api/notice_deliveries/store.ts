import sql, { empty } from 'sql-template-tag';
import { liesIn } from '../../platform/http/caller/mount.ts';
import type { Place } from '../../platform/http/caller/mount.ts';
import type { List } from '../../platform/http/lists/pagination.ts';
import type { Queryable, Transaction } from '../../platform/postgres/database.ts';
import type { NoticeTargetRow } from '../notice_targets/schema.ts';
import type { NoticeDeliveryRecord } from './schema.ts';

/** Filters of the list. */
export type DeliveriesWanted = { target?: string; batch_export?: string; outcome?: string };

const columns = sql`d.id, d.team_id, d.notice_id AS notice, n.event,
  d.batch_export_id AS batch_export, d.plugin_config_id AS plugin_config, d.target_id AS target,
  d.address, d.outcome, d.attempts, d.next_attempt_at, n.created_at,
  (SELECT json_build_object('at', wire_instant(a.at), 'outcome', a.outcome, 'status', a.status,
    'detail', a.detail) FROM notice_attempts a WHERE a.delivery_id = d.id
    ORDER BY a.number DESC LIMIT 1) AS last_try`;
const with_notice = sql`JOIN notices n ON n.id = d.notice_id`;

const isInPlace = (place: Place) => liesIn(place, sql`d.team_id`);

const fits = (place: Place, { target, batch_export, outcome }: DeliveriesWanted) => sql`
  ${isInPlace(place)} ${target === undefined ? empty : sql`AND d.target_id = ${target}::uuid`}
  ${batch_export === undefined ? empty : sql`AND d.batch_export_id = ${batch_export}::uuid`}
  ${outcome === undefined ? empty : sql`AND d.outcome = ${outcome}`}`;

/**
 * Lists the deliveries of a place, newest first. It first chooses the page, then reads its notices.
 */
export function listDeliveries(place: Place, wanted: DeliveriesWanted): List {
  return {
    rows: (page) => sql`
      SELECT ${columns} FROM (SELECT d.* FROM notice_deliveries d WHERE ${fits(place, wanted)}
        ORDER BY d.id DESC LIMIT ${page.limit} OFFSET ${page.offset}) d ${with_notice}
      ORDER BY d.id DESC`,
    count: sql`SELECT count(*) AS count FROM notice_deliveries d WHERE ${fits(place, wanted)}`,
  };
}

/** A delivery with the text of its notice and the type of its target. */
export type StoredDelivery = NoticeDeliveryRecord & {
  type: NoticeTargetRow['type'] | null;
};

/** Returns the delivery with all its attempts. */
export function findDelivery(
  db: Queryable,
  place: Place,
  id: number,
): Promise<StoredDelivery | undefined> {
  return db.row<StoredDelivery>(sql`
    SELECT ${columns}, n.body, (SELECT t.type FROM notice_targets t WHERE t.id = d.target_id)
      AS type, coalesce((
      SELECT json_agg(json_build_object('number', a.number, 'at', wire_instant(a.at), 'outcome',
        a.outcome, 'status', a.status, 'detail', a.detail) ORDER BY a.number)
      FROM notice_attempts a WHERE a.delivery_id = d.id), '[]') AS tries
    FROM notice_deliveries d ${with_notice} WHERE d.id = ${id} AND ${isInPlace(place)}`);
}

/**
 * Locks the delivery; returns whether a process is attempting it, and whether its target is off.
 */
export function lockDelivery(
  tx: Transaction,
  place: Place,
  id: number,
): Promise<{ is_under_way: boolean; is_target_off: boolean; is_mail: boolean } | undefined> {
  return tx.row(sql`
    SELECT d.is_under_way, EXISTS (SELECT 1 FROM notice_targets t WHERE t.id = d.target_id
      AND NOT t.enabled) AS is_target_off,
      NOT EXISTS (SELECT 1 FROM notice_targets t WHERE t.id = d.target_id
        AND t.type <> 'email') AS is_mail
    FROM notice_deliveries d WHERE d.id = ${id} AND ${isInPlace(place)} FOR UPDATE OF d`);
}

/** Makes the delivery due now, with all attempts again. The caller holds its lock. */
export async function sendAgain(tx: Transaction, id: number, now: string): Promise<void> {
  await tx.run(sql`UPDATE notice_deliveries SET outcome = 'pending', attempts = 0,
    next_attempt_at = ${now}::timestamptz WHERE id = ${id}`);
}
