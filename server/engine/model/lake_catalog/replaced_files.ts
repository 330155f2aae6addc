import sql from 'sql-template-tag';
import type { Queryable } from '../../../platform/postgres/database.ts';
import type { TableName } from './tables.ts';

/**
 * The file that now holds the rows of others, as it was written; null: an erasure removed them all.
 */
export type Successor = {
  path: string;
  records: number;
  bytes: number;
  sha256: string;
  /** True if it holds as many rows as the files it replaces, except for erased ones. */
  is_complete: boolean;
} | null;

/**
 * Finds the successors of a table's files whose rows are now in another file. Maintenance has
 * compared the rows of both.
 */
export async function findReplaced(
  db: Queryable,
  team_id: number,
  { levels, name }: TableName,
  paths: readonly string[],
): Promise<Map<string, Successor>> {
  const rows = await db.rows<
    { replaced: string; path: string | null } & NonNullable<Successor>
  >(sql`
    SELECT old.path AS replaced, now.path, now.records, now.bytes, now.sha256,
      now.records + now.erased = (SELECT sum(one.records) FROM lake_replaced_files one
        WHERE one.table_id = old.table_id AND one.successor = old.successor) AS is_complete
    FROM lake_replaced_files old
    JOIN lake_tables t ON t.id = old.table_id JOIN lake_namespaces n ON n.id = t.namespace_id
    LEFT JOIN lake_successors now ON now.table_id = old.table_id AND now.path = old.successor
    WHERE n.team_id = ${team_id} AND n.levels = ${levels}::text[] AND t.name = ${name}
      AND old.path = ANY (${paths}::text[])`);
  return new Map(rows.map(({ replaced, ...now }) => [replaced, now.path === null ? null : now]));
}
