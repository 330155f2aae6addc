import sql from 'sql-template-tag';
import type { Sql } from 'sql-template-tag';
import { isoInstant } from '../../../platform/clock.ts';

/**
 * SQL that is true if the creator of the token `t` is an active owner of the organization. It is
 * also true for old tokens, whose creators are unknown.
 */
export function hasRight(organization_id: Sql): Sql {
  return sql`(NOT t.has_maker OR EXISTS (SELECT 1 FROM members m JOIN users u ON u.id = m.user_id
    WHERE m.organization_id = ${organization_id} AND m.user_id = t.maker_id AND m.level = 15
      AND u.is_active))`;
}

/** SQL that is true if the token `t` of a directory of the organization is valid. */
export function isLive(organization_id: Sql, now_ms: number): Sql {
  return sql`(t.expires_at > ${isoInstant(now_ms)}::timestamptz AND ${hasRight(organization_id)})`;
}
