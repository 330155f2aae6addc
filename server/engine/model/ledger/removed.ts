import sql from 'sql-template-tag';
import type { Queryable } from '../../../platform/postgres/database.ts';
import { fromStored } from './rectangles.ts';
import type { Rectangle, StoredRectangle } from './rectangles.ts';
import { coveredSpans, isCovered } from './spans.ts';

/** Rows of a project that were taken in before `before` may have been removed, last at `on`. */
export type Removed = { before: string; on: string };

/**
 * Finds the rows that retention has removed from a project, or is about to remove; undefined if it
 * never removed any. Retention decides under the locks of the project's exports, so the holder of
 * one of them sees all of it.
 */
export async function findRemoved(db: Queryable, team_id: number): Promise<Removed | undefined> {
  const row = await db.row<{ before: string | null; on: string | null }>(sql`
    SELECT max(removed_before) AS before, max(coalesce(ended_at, started_at)) AS on
    FROM retention_removals WHERE team_id = ${team_id}`);
  const { before = null, on = null } = row ?? {};
  return before === null || on === null ? undefined : { before, on };
}

/** True when a part of the areas lies before what was removed. */
export function reachesRemoved(areas: Rectangle[], { before }: Removed): boolean {
  return areas.some(({ inserted_from }) => inserted_from < Date.parse(before));
}

/**
 * True when rows that are made of events, and were selected from the areas, may have lost some
 * since: these may have come long before, so every selection from before the last removal is in
 * question.
 */
export function mayLackEvents(areas: Rectangle[], { on }: Removed): boolean {
  return areas.some(({ inserted_from }) => inserted_from < Date.parse(on));
}

/**
 * The earliest insertion (milliseconds) that rows of the areas are likely to have: nothing is taken
 * in before it happens, but for clocks that were wrong.
 */
export function earliestOf(areas: Rectangle[]): number {
  return Math.min(
    ...areas.map(({ inserted_from, event_from }) => Math.max(inserted_from, event_from)),
  );
}

/** Tells a person about removed rows: a sentence without its full stop. */
export function removedSentence({ before, on }: Removed): string {
  return `Retention has removed rows ingested before ${before}, last on ${on}`;
}

/**
 * A sentence for whoever asks for a range from `from` (milliseconds) on; empty where nothing of it
 * was removed.
 */
export async function removedFrom(db: Queryable, team_id: number, from: number): Promise<string> {
  const removed = await findRemoved(db, team_id);
  if (removed === undefined || from >= Date.parse(removed.before)) return '';
  return `${removedSentence(removed)}. Rows of this range are no longer delivered.`;
}

/** True when every event that was taken in between both instants (milliseconds) was removed. */
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
