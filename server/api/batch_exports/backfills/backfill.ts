import { isReplacing } from '../../../engine/model/destination/write_mode.ts';
import { startBackfill } from '../../../engine/exports/planning/backfill.ts';
import type { BackfillRange } from '../../../engine/exports/planning/backfill.ts';
import { backfillArea, timesOf } from '../../../engine/exports/planning/backfill_area.ts';
import {
  findRemoved,
  isWhollyRemoved,
  removedSentence,
} from '../../../engine/model/ledger/removed.ts';
import type { Engine } from '../../../engine/exports/engine.ts';
import { intervalCount, nominalLength } from '../../../engine/exports/planning/interval.ts';
import { isoInstant } from '../../../platform/clock.ts';
import { conflict, invalidMany } from '../../../platform/http/errors.ts';
import type { Violation } from '../../../platform/http/errors.ts';
import { checked } from '../../../platform/http/bodies/validator.ts';
import type { Transaction } from '../../../platform/postgres/database.ts';
import { databaseInstant } from '../../../platform/postgres/instant.ts';
import { findBackfill, listOpenBackfills } from './store.ts';
import { dryRun, outlookOf } from './dry_run.ts';
import { grainViolations, instantViolations, rangeViolations } from '../body/instants.ts';
import type { Place } from '../../../platform/http/caller/mount.ts';
import { retryUncertain } from '../runs/retry_uncertain.ts';
import { NewBackfill } from './schema.ts';
import type { Backfill } from './schema.ts';
import type { LockedExport } from '../store.ts';

/**
 * Most runs of one backfill. More is surely a mistyped year: five minutes over almost five years,
 * or each minute of almost one.
 */
const runs_max = 500_000;
/** Most open backfills of one export; more would only wait for each other. */
const open_backfills_max = 20;

/**
 * Starts the backfill of the body, or with `dry_run` only counts its runs and rows. The caller
 * holds the lock on the export. Throws 400 for an invalid range. Also throws it for part of a table
 * that is replaced as a whole, unless the caller knows that its one run `replaces_all`.
 */
export async function backfill(
  engine: Engine,
  tx: Transaction,
  place: Place,
  row: LockedExport,
  raw: unknown,
  { replaces_all = false, is_run_now = false } = {},
): Promise<Backfill> {
  const body = checked(NewBackfill, raw);
  const { mode = 'missing', by = timesOf(row.model)[0] } = body;
  const range: BackfillRange = {
    from: Date.parse(body.start_at),
    to: Date.parse(body.end_at),
    by,
    mode,
    is_run_now,
  };
  const violations = [
    ...(replaces_all ? [] : modeViolations(row)),
    ...timeViolations(row, range),
    ...violationsOf(body, row, range, await databaseInstant(tx)),
  ];
  violations.push(...(violations.length > 0 ? [] : await removedViolations(tx, row, range)));
  if (violations.length > 0) throw invalidMany(violations);
  if (body.dry_run === true) return dryRun(engine, tx, place, row, range);
  if ((await listOpenBackfills(tx, row.id)).length >= open_backfills_max)
    throw conflict(
      `${open_backfills_max} backfills of this export are in progress: wait for one to end, or ` +
        'cancel one.',
    );
  const planned = replaces_all ? undefined : await outlookOf(engine, tx, row, range);
  const outlook = planned && {
    records: planned.progress.records_total_count,
    runs: planned.plan.runs_with_records,
    elsewhere: range.mode === 'all' ? 0 : planned.plan.records_delivered_count,
  };
  // Uncertain runs are resolved first: the backfill leaves their rows to their retries.
  if (mode === 'missing' && !replaces_all)
    await retryUncertain(tx, row, backfillArea(by, range.from, range.to, Infinity));
  const id = await startBackfill(tx, row.id, range, engine.settle_seconds, outlook);
  return { ...(await findBackfill(tx, place, row.id, id))!, plan: planned?.plan ?? null };
}

/** A run over part of the past would replace the whole table. */
function modeViolations({ write_rule }: LockedExport): Violation[] {
  if (!isReplacing(write_rule)) return [];
  const detail =
    'With `mode` "replace" each run writes all rows of the table: there is nothing to fill in. ' +
    'To write it now, use `POST run_now/` of the export.';
  return [{ attr: 'start_at', code: 'invalid_input', detail }];
}

function timeViolations(row: LockedExport, { by }: BackfillRange): Violation[] {
  if (timesOf(row.model).includes(by)) return [];
  const detail =
    'Persons only have the time of their latest change: send "inserted_at", or leave it out.';
  return [{ attr: 'by', code: 'invalid_choice', detail }];
}

/** Retention has removed everything in such a range, and late events get a later insertion time. */
async function removedViolations(
  tx: Transaction,
  row: LockedExport,
  { from, to, by }: BackfillRange,
): Promise<Violation[]> {
  if (by !== 'inserted_at' || row.model !== 'events') return [];
  if (!(await isWhollyRemoved(tx, row.team_id, { from, to }))) return [];
  const detail = `${removedSentence((await findRemoved(tx, row.team_id))!)}: take a later range.`;
  return [{ attr: 'start_at', code: 'invalid_input', detail }];
}

function violationsOf(
  body: NewBackfill,
  row: LockedExport,
  range: BackfillRange,
  now: number,
): Violation[] {
  const wrong = [
    ...instantViolations({ start_at: body.start_at, end_at: body.end_at }),
    ...grainViolations({ start_at: body.start_at, end_at: body.end_at }),
  ];
  if (wrong.length === 0) wrong.push(...rangeViolations(body.start_at, body.end_at));
  if (wrong.length > 0) return wrong;
  if (range.to > now + nominalLength(row.interval))
    return [
      {
        attr: 'end_at',
        code: 'invalid_input',
        detail:
          'Must be at most one interval after now: ' +
          `${isoInstant(now + nominalLength(row.interval))}.`,
      },
    ];
  // Both bounds can be within one millisecond, which is the resolution of the ledger.
  if (range.from === range.to)
    return [
      {
        attr: 'end_at',
        code: 'invalid_input',
        detail: 'The end must be at least a millisecond after the start.',
      },
    ];
  const runs = intervalCount(row, range.from, range.to);
  if (runs > runs_max)
    return [
      {
        attr: 'start_at',
        code: 'invalid_input',
        detail:
          `This range takes ${runs} runs and one backfill has at most ${runs_max}: take a later ` +
          'start_at.',
      },
    ];
  return [];
}
