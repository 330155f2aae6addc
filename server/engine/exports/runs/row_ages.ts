import sql from 'sql-template-tag';
import type { Sql } from 'sql-template-tag';

/**
 * SQL for the seconds from an insertion of the run until its rows were visible, in milliseconds;
 * null for a run that shows no rows.
 */
export function rowSeconds(run: Sql, inserted_at: Sql): Sql {
  return sql`CASE WHEN ${run}.status = 'Completed' AND ${run}.records_completed > 0
    THEN round(greatest(extract(epoch FROM ${run}.finished_at - ${inserted_at}), 0), 3)::float8 END`;
}
