import sql from 'sql-template-tag';
import type { Sql } from 'sql-template-tag';
import type { StoredSlice } from '../../model/run.ts';

/**
 * Returns SQL for the seconds from an insertion of the run until its rows were visible, with
 * milliseconds. It is null for a run that shows no rows, or does not know when they were inserted.
 */
export function rowSeconds(run: Sql, inserted_at: Sql): Sql {
  // The greatest of null and a number is the number.
  return sql`CASE WHEN ${run}.status = 'Completed' AND ${run}.records_completed > 0
      AND ${inserted_at} IS NOT NULL
    THEN round(greatest(extract(epoch FROM ${run}.finished_at - ${inserted_at}), 0), 3)::float8
    END`;
}

/**
 * Returns the insertion of the oldest row of the slices, and the end of the newest insertion; null
 * if a slice has no bounds.
 */
export function insertionsOf(slices: StoredSlice[]): {
  oldest: string | null;
  newest: string | null;
} {
  const bounds = slices.flatMap(({ inserted_from: from, inserted_to: to }) =>
    from === null || to === null ? [] : [{ from, to }],
  );
  if (bounds.length < slices.length) return { oldest: null, newest: null };
  // In the store's own notation, so that the texts sort like the instants.
  const [oldest = null] = bounds.map(({ from }) => from).toSorted();
  return {
    oldest,
    newest:
      bounds
        .map(({ to }) => to)
        .toSorted()
        .at(-1) ?? null,
  };
}
