import type { Static } from 'typebox';
import { v7 as uuidv7 } from 'uuid';
import {
  rejected_percent_default,
  rejected_rows_default,
} from '../../engine/model/destination/rejected_rows.ts';
import { storeConfig } from '../../engine/model/destination/stored_config.ts';
import type { Engine } from '../../engine/exports/engine.ts';
import { firstSchedule } from '../../engine/exports/planning/plan.ts';
import type { Schedule } from '../../engine/exports/planning/plan.ts';
import { isoInstant } from '../../platform/clock.ts';
import type { Transaction } from '../../platform/postgres/database.ts';
import type { CheckedNewExport } from './body/new_export.ts';
import { holdConnection } from './body/used_connection.ts';
import { rhythmOf, storedSchedule } from './pause.ts';
import { newRhythm } from './rhythm.ts';
import type { BatchExport, NewBatchExport } from './schema.ts';
import { insertBatchExport } from './store.ts';
import type { NewRow, TargetProject } from './store.ts';

/**
 * Adds a checked export to its project; returns its wire form and its stored form. The schedule
 * starts with the interval that contains now, or `start_at` if that is later. Calls `soon` after
 * its last statement was sent.
 */
export async function createBatchExport(
  engine: Engine,
  tx: Transaction,
  { place, fields, sink, query, connection, write_rule, typed }: CheckedNewExport,
  {
    project,
    created_by,
    soon,
  }: { project: TargetProject; created_by: number | null; soon(): void },
): Promise<{ created: BatchExport; row: NewRow }> {
  await holdConnection(tx, place.organization_id, connection);
  const given = withDefaults(fields);
  const { definition, destination } = sink;
  const id = uuidv7();
  const rhythm = newRhythm(fields, project.timezone);
  const schedule = firstSchedule(rhythmOf({ ...given, ...rhythm }), project.instant);
  const row = {
    id,
    team_id: project.id,
    ...rhythm,
    ...given,
    ...query.content,
    write_rule,
    ...typed,
    destination_type: destination.type,
    ...storeConfig(engine.secrets, id, destination.config, definition.secrets),
    connection_id: connection?.id ?? null,
    pause_reason: null,
    revision: 1,
    ...storedSchedule(schedule),
    created_by,
  };
  const message = `The export was created. ${scheduleMessage(schedule)}`;
  const inserting = insertBatchExport(tx, row, message);
  soon();
  return { created: await inserting, row };
}

function withDefaults({
  name,
  paused = false,
  last_paused_at = null,
  start_at = null,
  end_at = null,
  freshness_seconds = null,
  rejected_rows = 'stop',
  rejected_rows_max = rejected_rows_default,
  rejected_percent_max = rejected_percent_default,
  tags = [],
}: Static<typeof NewBatchExport>) {
  const schedule = { paused, last_paused_at, start_at, end_at, freshness_seconds };
  return { name, ...schedule, rejected_rows, rejected_rows_max, rejected_percent_max, tags };
}

/**
 * Describes the next run of the schedule. Instants are in milliseconds. If there is no next run, no
 * interval ends before `end_at`.
 */
function scheduleMessage({ planned_until, next_run_at }: Schedule): string {
  if (next_run_at !== null)
    return `Its first scheduled run starts with ${isoInstant(planned_until)}.`;
  return (
    'It has no scheduled run, because no interval ends before its end_at: move end_at, or ' +
    'start a backfill for older data.'
  );
}
