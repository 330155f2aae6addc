import sql, { raw } from 'sql-template-tag';
import type { Sql } from 'sql-template-tag';
import type { Caller } from './access.ts';

/**
 * Keeps memberships `m` in organizations that do not ask for a second factor, unless the caller has
 * one.
 */
export function isOpenTo(caller: Pick<Caller, 'has_second_factor'>): Sql {
  return caller.has_second_factor
    ? raw('true')
    : sql`NOT EXISTS (SELECT 1 FROM organizations enforcing WHERE enforcing.id = m.organization_id
      AND enforcing.enforce_2fa)`;
}
