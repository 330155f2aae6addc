import { isDeepStrictEqual } from 'node:util';
import { storeConfig } from '../../engine/model/destination/stored_config.ts';
import type { Engine } from '../../engine/exports/engine.ts';
import { recountBackfills } from '../../engine/exports/planning/backfill.ts';
import { isSameRhythm } from '../../engine/exports/planning/interval.ts';
import { beginRevision } from '../../engine/exports/runs/begin_revision.ts';
import { writeRunLog } from '../../engine/model/run_log.ts';
import type { Transaction } from '../../platform/postgres/database.ts';
import { checkChangedExport } from './body/changed_export.ts';
import type { CheckedChange, WantedChange } from './body/changed_export.ts';
import { paused, recordPause, rhythmOf, scheduleOf, storedSchedule, unpaused } from './pause.ts';
import { changesDelivery } from './revision.ts';
import { rescheduled } from './schedule.ts';
import type { BatchExport, BatchExportPatch } from './schema.ts';
import { updateBatchExport } from './store.ts';
import type { ExportFields, LockedExport } from './store.ts';

/**
 * Changes an export under the caller's lock; returns its wire form (undefined if nothing differs)
 * and its stored form. Guarantees: absent fields keep their values. A change of the delivered data
 * or their place starts a new revision; its schedule begins with the earliest cancelled run, so no
 * row is missed. A change of the rhythm leaves no gap. Throws 400 for an invalid body. `now` is the
 * clock of the control store, read under the lock. Calls `soon` after the last statement was sent.
 */
export async function changeBatchExport(
  engine: Engine,
  tx: Transaction,
  { now, soon, ...wanted }: WantedChange & { now: number; soon(): void },
): Promise<{ changed: BatchExport | undefined; row: LockedExport }> {
  const change = checkChangedExport(engine, wanted);
  const { row } = change;
  const next = await withPause(tx, row, change.fields, now);
  applyFields(next, change);
  applyDestination(engine, next, change);
  if (changesDelivery(change)) await startRevision(tx, next, row);
  Object.assign(
    next,
    storedSchedule(rescheduled(scheduleOf(next), rhythmOf(row), rhythmOf(next), now)),
  );
  if (!isSameRhythm(next, row)) await recountBackfills(tx, next);
  const updating = updateBatchExport(tx, row.id, next);
  soon();
  return { changed: await updating, row: next };
}

async function withPause(
  tx: Transaction,
  row: LockedExport,
  fields: BatchExportPatch,
  now: number,
): Promise<LockedExport> {
  const change =
    fields.paused === undefined
      ? undefined
      : fields.paused
        ? paused(row, now)
        : unpaused(row, now, false);
  if (change !== undefined) await recordPause(tx, row.id, change);
  return { ...row, ...change?.fields };
}

/** Copies the sent fields and the rhythm into `next`. */
function applyFields(next: ExportFields, change: CheckedChange): void {
  const { fields, rhythm, query, write_rule, typed } = change;
  const { name, last_paused_at, start_at, end_at, freshness_seconds, tags } = fields;
  const { rejected_rows, rejected_rows_max, rejected_percent_max } = fields;
  const sent = Object.entries({
    name,
    last_paused_at,
    start_at,
    end_at,
    freshness_seconds,
    rejected_rows,
    rejected_rows_max,
    rejected_percent_max,
    tags,
  }).filter(([, value]) => value !== undefined);
  const { model, custom_query, schema } = query.content;
  const content = { model, custom_query, schema, write_rule, ...typed };
  Object.assign(next, Object.fromEntries(sent), rhythm, content);
}

/** Copies the sent destination into `next`. */
function applyDestination(
  engine: Engine,
  next: ExportFields,
  { row, before, sink, connection }: CheckedChange,
): void {
  next.connection_id = connection.used?.id ?? null;
  if (sink === undefined) return;
  const { definition, destination } = sink;
  // An equal config is not sealed again, because each seal differs and the row would seem changed.
  if (destination.type !== before.type || !isDeepStrictEqual(destination.config, before.config)) {
    Object.assign(next, {
      destination_type: destination.type,
      ...storeConfig(engine.secrets, row.id, destination.config, definition.secrets),
    });
  }
}

async function startRevision(
  tx: Transaction,
  next: ExportFields,
  row: LockedExport,
): Promise<void> {
  const { revision, schedule } = await beginRevision(tx, row, scheduleOf(next), rhythmOf(row));
  Object.assign(next, { revision }, storedSchedule(schedule));
  const message =
    'From now on the export delivers other rows or to another place, starting with ' +
    `${next.planned_until}. Earlier deliveries no longer count; start a backfill to deliver ` +
    'them again.';
  await writeRunLog(tx, { batch_export_id: row.id, run_id: null, level: 'INFO', message });
}
