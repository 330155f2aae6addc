import type { Static } from 'typebox';
import { v7 as uuidv7 } from 'uuid';
import { storeConfig } from '../../engine/destination/stored_config.ts';
import type { Engine } from '../../engine/engine.ts';
import { firstSchedule } from '../../engine/planning/plan.ts';
import { writeRunLog } from '../../engine/run_log.ts';
import { isoInstant } from '../../platform/clock.ts';
import type { Transaction } from '../../platform/postgres/database.ts';
import { noProject } from './body/new_export.ts';
import type { CheckedNewExport } from './body/new_export.ts';
import { rhythmOf, storedSchedule } from './pause.ts';
import type { Schedule } from './schedule.ts';
import type { BatchExport, NewBatchExport } from './schema.ts';
import { findTargetProject, insertBatchExport } from './store.ts';
import type { NewRow } from './store.ts';

/**
 * Adds an export that was checked, and gives it on the wire and as it is stored. It begins with the
 * interval in which now, or its `start_at` when that is later, lies. Throws 404 or 400 when the
 * project was deleted since the check.
 */
export async function createBatchExport(
  engine: Engine,
  tx: Transaction,
  { place, fields, sink, query }: CheckedNewExport,
  created_by: number,
): Promise<{ created: BatchExport; row: NewRow }> {
  const project = await findTargetProject(tx, place, fields.team_id, 'lock');
  if (project === undefined) throw noProject(place, fields.team_id);
  const given = withDefaults(fields);
  const { definition, destination } = sink;
  const id = uuidv7();
  const { timezone, instant } = project;
  const schedule = firstSchedule(rhythmOf({ ...given, timezone }), instant);
  const row = {
    id,
    team_id: project.id,
    timezone,
    ...given,
    ...query.content,
    destination_type: destination.type,
    ...storeConfig(engine.secrets, id, destination.config, definition.secrets),
    pause_reason: null,
    revision: 1,
    ...storedSchedule(schedule),
    created_by,
  };
  const [created] = await Promise.all([
    insertBatchExport(tx, row),
    logCreation(tx, id, scheduleMessage(schedule)),
  ]);
  return { created, row };
}

function withDefaults({
  name,
  interval,
  paused = false,
  last_paused_at = null,
  start_at = null,
  end_at = null,
  freshness_seconds = null,
}: Static<typeof NewBatchExport>) {
  return { name, interval, paused, last_paused_at, start_at, end_at, freshness_seconds };
}

function logCreation(tx: Transaction, batch_export_id: string, schedule: string): Promise<void> {
  const message = `The export was made. ${schedule}`;
  return writeRunLog(tx, { batch_export_id, run_id: null, level: 'INFO', message });
}

/**
 * What the schedule does next, in a sentence. Instants in milliseconds; without a next run the
 * whole interval would have to end after `end_at`.
 */
function scheduleMessage({ planned_until, next_run_at }: Schedule): string {
  if (next_run_at !== null)
    return `Its first scheduled run begins with ${isoInstant(planned_until)}.`;
  return (
    'It has no scheduled run, because no interval ends before its end_at: move end_at, or start ' +
    'a backfill for what was there before.'
  );
}
