import type { Static } from 'typebox';
import { v7 as uuidv7 } from 'uuid';
import { storeConfig } from '../../engine/destination/stored_config.ts';
import type { Engine } from '../../engine/engine.ts';
import { firstSchedule } from '../../engine/planning/plan.ts';
import { writeRunLog } from '../../engine/run_log.ts';
import { isoInstant } from '../../platform/clock.ts';
import { invalid, notFound } from '../../platform/http/errors.ts';
import type { Transaction } from '../../platform/postgres/database.ts';
import { databaseInstant } from '../../platform/postgres/instant.ts';
import { checkedInput, isRecord } from './body/input.ts';
import { milliseconds } from './body/instants.ts';
import type { Place } from './place.ts';
import type { CheckContent } from './body/query_check.ts';
import { NewBatchExport } from './schema.ts';
import { findTargetProject, insertBatchExport } from './store.ts';

/**
 * What a new export is made with: where it goes, the body as it was sent, the check of its query,
 * and whose it is.
 */
type Wanted = { place: Place; raw: unknown; checkContent: CheckContent; created_by: number };

/**
 * Makes an export from a body and gives its id. It begins with the interval in which now, or its
 * `start_at` when that is later, lies. Throws 400 for a wrong body.
 */
export async function createBatchExport(
  engine: Engine,
  tx: Transaction,
  { place, raw, checkContent, created_by }: Wanted,
): Promise<string> {
  const wanted =
    isRecord(raw) && Number.isSafeInteger(raw['team_id']) ? (raw['team_id'] as number) : undefined;
  const project = await findTargetProject(tx, place, wanted);
  const missing = project === undefined ? noProject(place, wanted) : undefined;
  if (missing?.status === 404) throw missing;
  const query = await checkContent(raw, undefined);
  const { fields, sink } = checkedInput(
    engine,
    NewBatchExport,
    raw,
    undefined,
    'replace',
    query,
    missing?.violations,
  );
  if (project === undefined) throw noProject(place, wanted);
  const given = withDefaults(fields);
  const { definition, destination } = sink!;
  const id = uuidv7();
  const rhythm = {
    interval: given.interval,
    timezone: project.timezone,
    start_at: milliseconds(given.start_at),
    end_at: milliseconds(given.end_at),
  };
  const { planned_until, next_run_at } = firstSchedule(rhythm, await databaseInstant(tx));
  await insertBatchExport(tx, {
    id,
    team_id: project.id,
    ...given,
    ...query.content,
    destination_type: destination.type,
    ...storeConfig(engine.secrets, id, destination.config, definition.secrets),
    timezone: project.timezone,
    pause_reason: null,
    revision: 1,
    planned_until: isoInstant(planned_until),
    next_run_at: next_run_at === null ? null : isoInstant(next_run_at),
    created_by,
  });
  await logCreation(tx, id, scheduleMessage(planned_until, next_run_at));
  return id;
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
function scheduleMessage(planned_until: number, next_run_at: number | null): string {
  if (next_run_at !== null)
    return `Its first scheduled run begins with ${isoInstant(planned_until)}.`;
  return (
    'It has no scheduled run, because no interval ends before its end_at: move end_at, or start ' +
    'a backfill for what was there before.'
  );
}

/** The 400 or 404 for a project that a new export cannot go to. */
export function noProject(place: Place, wanted: number | undefined) {
  if (place.team_id !== undefined) return notFound();
  if (wanted === undefined)
    return invalid('team_id', 'required', 'This organization has no project: make one first.');
  return invalid('team_id', 'invalid_input', 'The organization has no project with this id.');
}
