import sql from 'sql-template-tag';
import type { Sql } from 'sql-template-tag';
import type { Queryable } from '../../postgres/database.ts';

const page_bytes_max = 64 * 1024 * 1024;
/** Pages up to this length are read directly: a check beforehand would cost as much again. */
const usual_rows_max = 100;

/**
 * Returns how many of a statement's rows to read at once: all rows up to the limit, or the first
 * ones that total 64 MiB, but at least 100. A thousand records of the greatest length would exceed
 * the memory of the process.
 */
export async function fittingRows(db: Queryable, rows: Sql, limit: number): Promise<number> {
  if (limit <= usual_rows_max) return limit;
  // OFFSET 0 separates the lengths from the sum, which would otherwise keep the rows themselves.
  const { found, fitting } = (await db.row<{ found: number; fitting: number }>(sql`
    SELECT count(*) AS found, count(*) FILTER (WHERE total <= ${page_bytes_max}) AS fitting
    FROM (SELECT sum(bytes) OVER (ROWS UNBOUNDED PRECEDING) AS total
      FROM (SELECT octet_length(listed::text) AS bytes FROM (${rows}) AS listed OFFSET 0) AS lengths
    ) AS totals`))!;
  return fitting === found ? limit : Math.max(fitting, usual_rows_max);
}
