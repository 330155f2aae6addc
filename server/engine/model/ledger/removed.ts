import sql from 'sql-template-tag';
import type { Queryable } from '../../../platform/postgres/database.ts';
import { fromStored } from './rectangles.ts';
import type { Rectangle, StoredRectangle } from './rectangles.ts';
import { coveredSpans, isCovered } from './spans.ts';

/** Rows of a project ingested before `before` may have been removed, last at `on`. */
export type Removed = { before: string; on: string };

/**
 * Finds the rows that retention has removed from a project, or will remove soon; undefined if it
 * never removed any. Retention decides under the locks of the project's exports, so a holder of one
 * lock sees every decision.
 */
export async function findRemoved(db: Queryable, team_id: number): Promise<Removed | undefined> {
  const row = await db.row<{ before: string | null; on: string | null }>(sql`
    SELECT max(removed_before) AS before, max(coalesce(ended_at, started_at)) AS on
    FROM retention_removals WHERE team_id = ${team_id}`);
  const { before = null, on = null } = row ?? {};
  return before === null || on === null ? undefined : { before, on };
}

/** Returns true if a part of the areas lies before the removal's bound. */
export function reachesRemoved(areas: Rectangle[], { before }: Removed): boolean {
  return areas.some(({ inserted_from }) => inserted_from < Date.parse(before));
}

/**
 * Returns true if rows that are computed from events, and were selected from the areas, may have
 * lost events since. Their events may be much older, so every selection before the last removal
 * counts.
 */
export function mayLackEvents(areas: Rectangle[], { on }: Removed): boolean {
  return areas.some(({ inserted_from }) => inserted_from < Date.parse(on));
}

/**
 * Returns the earliest likely insertion (milliseconds) of the areas' rows: no event is ingested
 * before it happens, unless a clock was wrong.
 */
export function earliestOf(areas: Rectangle[]): number {
  return Math.min(
    ...areas.map(({ inserted_from, event_from }) => Math.max(inserted_from, event_from)),
  );
}

/** Returns a sentence about removed rows, without its full stop. */
export function removedSentence({ before, on }: Removed): string {
  return `Retention has removed rows ingested before ${before}, last on ${on}`;
}

/**
 * Returns a sentence about removed rows in a requested range from `from` (milliseconds); empty if
 * no row was removed.
 */
export async function removedFrom(db: Queryable, team_id: number, from: number): Promise<string> {
  const removed = await findRemoved(db, team_id);
  if (removed === undefined || from >= Date.parse(removed.before)) return '';
  return `${removedSentence(removed)}. Rows of this range are no longer delivered.`;
}

/** Returns true if every event ingested between both instants (milliseconds) was removed. */
export async function isWhollyRemoved(
  db: Queryable,
  team_id: number,
  { from, to }: { from: number; to: number },
): Promise<boolean> {
  const rows = await db.rows<{ area: StoredRectangle[] }>(sql`
    SELECT part -> 'area' AS area FROM retention_removals,
      jsonb_array_elements(areas -> 'events') AS part
    WHERE team_id = ${team_id}
      AND part -> 'filter' = '{"include_events": [], "exclude_events": []}'::jsonb`);
  return isCovered(coveredSpans(rows.flatMap(({ area }) => fromStored(area))), from, to);
}
