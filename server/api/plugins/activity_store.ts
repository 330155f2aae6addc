import sql from 'sql-template-tag';
import { listOf } from '../../platform/http/lists/pagination.ts';
import type { List } from '../../platform/http/lists/pagination.ts';
import { activityColumns } from '../activity/store.ts';

const isAbout = (organization_id: string, scope: string) =>
  sql`a.chain_id = ${organization_id}::uuid AND a.scope = ${scope}`;

/**
 * Lists the organization's actions on the plugins of a collection, newest first. Uses
 * activity_by_scope.
 */
export function listPluginActivity(
  organization_id: string,
  scope: string,
  reader: Parameters<typeof activityColumns>[0],
): List {
  return listOf(
    activityColumns(reader),
    sql`activity a WHERE ${isAbout(organization_id, scope)}`,
    sql`a.number DESC`,
  );
}
