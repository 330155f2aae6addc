import sql from 'sql-template-tag';
import { Type } from 'typebox';
import type { Static } from 'typebox';
import type { Engine } from '../../../engine/exports/engine.ts';
import { findWaitingSentence } from '../../../engine/exports/runs/hold_until_reconciled.ts';
import { cursorPageOf } from '../../../platform/http/lists/cursor.ts';
import { nullable } from '../../../platform/nullable.ts';
import { isoInstant } from '../../../platform/clock.ts';
import { instant, text, titled } from '../../../platform/http/schemas.ts';
import { BatchExportRun, RetryAnswers } from './schema.ts';
import { afterEnd } from '../after_end.ts';
import { NextRun } from '../schema.ts';
import type { BatchExport } from '../schema.ts';

const RunsAhead = Type.Object({
  next_run: nullable(
    Type.Object({
      ...NextRun.properties,
      due_at: instant('Time of planning: the end of its interval, plus `SLUICE_SETTLE_SECONDS`.'),
    }),
  ),
  detail: text('When the next run is due, and why a pending run waits.'),
});
type RunsAhead = Static<typeof RunsAhead>;

/** A page of runs, with the answers to retries and the next run. */
export const RunPage = titled('BatchExportRunList', {
  ...cursorPageOf(BatchExportRun).properties,
  retries: RetryAnswers,
  ...RunsAhead.properties,
});

/**
 * Describes the coming runs of an export: the next scheduled run, and runs of a backfill that has
 * not begun. If the export waits since a restore, says that first.
 */
export async function runsAhead(engine: Engine, found: BatchExport): Promise<RunsAhead> {
  const waiting = await findWaitingSentence(engine.db, found.id);
  const ahead = await plannedRuns(engine, found);
  if (waiting === undefined) return ahead;
  return { ...ahead, detail: `The export waits. ${waiting} ${ahead.detail}` };
}

async function plannedRuns(engine: Engine, found: BatchExport): Promise<RunsAhead> {
  const waiting = await engine.db.row<{ settles_at: string }>(sql`
    SELECT settles_at FROM batch_export_backfills
    WHERE batch_export_id = ${found.id} AND status = 'Starting' AND settles_at IS NOT NULL
      ORDER BY settles_at LIMIT 1`);
  const backfill =
    waiting === undefined
      ? ''
      : ` A backfill starts at ${waiting.settles_at}, once all events ingested before its ` +
        'request are final.';
  const { next_run } = found;
  if (next_run === null) {
    const why = found.paused
      ? 'The export is paused: no run is planned until it is unpaused.'
      : 'The schedule has ended (end_at): no further run is planned.';
    return { next_run: null, detail: `${why}${backfill}` };
  }
  const { settle_seconds } = engine;
  const due_at = isoInstant(Date.parse(next_run.data_interval_end) + settle_seconds * 1000);
  const detail =
    `The next run delivers events ingested from ${next_run.data_interval_start} to ` +
    `${next_run.data_interval_end}. It is planned at ${due_at}, ` +
    `${afterEnd(settle_seconds)} of its interval, once all its events are final.`;
  return { next_run: { ...next_run, due_at }, detail: `${detail}${backfill}` };
}
