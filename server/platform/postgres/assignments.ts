import { join, raw } from 'sql-template-tag';
import sql from 'sql-template-tag';
import type { Sql } from 'sql-template-tag';

/**
 * Returns `"name" = $1, ...` for an UPDATE, from the sent fields. The names are declared fields of
 * a schema and at least one; any character except `a-z0-9_` throws.
 */
export function assignments(changes: Record<string, unknown>): Sql {
  const parts = Object.entries(changes).map(([column, value]) => {
    if (!/^[a-z_][a-z0-9_]*$/.test(column)) throw new Error(`"${column}" is not a column name.`);
    return sql`${raw(`"${column}"`)} = ${value}`;
  });
  return join(parts, ', ');
}
