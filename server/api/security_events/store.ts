import sql, { join } from 'sql-template-tag';
import type { Sql } from 'sql-template-tag';
import { keysetCondition, keysetOrder } from '../../platform/http/lists/cursor.ts';
import type { Keyset } from '../../platform/http/lists/cursor.ts';
import type { Queryable } from '../../platform/postgres/database.ts';
import type { SecurityEventRow, SecurityEventsWanted } from './schema.ts';

/** The owner of the list: an organization or a person. */
export type ListOwner = { organization_id: string } | { user_id: number };

/**
 * Lists the events of one page and one more, in the order of their numbers. Uses
 * security_events_by_organization or security_events_by_user.
 */
export function listSecurityEvents(
  db: Queryable,
  owner: ListOwner,
  keyset: Keyset,
  wanted: SecurityEventsWanted,
): Promise<SecurityEventRow[]> {
  const of_owner =
    'user_id' in owner
      ? sql`e.user_id = ${owner.user_id}`
      : sql`e.organization_id = ${owner.organization_id}::uuid`;
  return db.rows<SecurityEventRow>(sql`
    SELECT e.id, e.number, e.event, e.reason,
      CASE WHEN e.user_uuid IS NOT NULL THEN json_build_object('uuid', e.user_uuid, 'email',
        e.user_email) END AS "user",
      e.key_mask, e.session_id, e.ip, e.user_agent, e.method, e.route, e.item_id, e.request_id,
      e.count, e.created_at
    FROM security_events e
    WHERE ${join([of_owner, keysetCondition(keyset), ...conditions(wanted)], ' AND ')}
    ${keysetOrder(keyset)}`);
}

function conditions(wanted: SecurityEventsWanted): Sql[] {
  const { event, reason, user, ip, after, before, after_number } = wanted;
  return [
    ...(event === undefined ? [] : [sql`e.event = ${event}`]),
    ...(reason === undefined ? [] : [sql`e.reason = ${reason}`]),
    ...(user === undefined ? [] : [sql`e.user_uuid = ${user}::uuid`]),
    ...(ip === undefined ? [] : [sql`e.ip = ${ip}`]),
    ...(after === undefined ? [] : [sql`e.created_at >= ${after}::timestamptz`]),
    ...(before === undefined ? [] : [sql`e.created_at < ${before}::timestamptz`]),
    ...(after_number === undefined ? [] : [sql`e.number > ${after_number}::bigint`]),
  ];
}
