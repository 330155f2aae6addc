import sql, { empty } from 'sql-template-tag';
import type { Sql } from 'sql-template-tag';
import type { KindName } from './schema.ts';

/**
 * SQL for `managed_by` of an object; `id` is SQL for its id. A person may be a member of several
 * organizations; `within` is SQL for the right one. Uses configuration_objects_by_object.
 */
export function managedBy(kind: KindName, id: Sql, within?: Sql): Sql {
  // A long alias, because `id` belongs to the outer statement.
  return sql`(SELECT json_build_object('key', managed.key, 'source', managed.source,
    'commit', managed.commit_id, 'applied_at', wire_instant(managed.applied_at))
    FROM configuration_objects managed
    WHERE managed.kind = ${kind} AND managed.object_id = (${id})::text
      ${within === undefined ? empty : sql`AND managed.organization_id = ${within}`})`;
}
