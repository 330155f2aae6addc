import { startBackfill } from '../../engine/backfill.ts';
import { undelivered } from '../../engine/deliveries.ts';
import type { Engine } from '../../engine/engine.ts';
import { intervalCount, nominalLength } from '../../engine/interval.ts';
import type { Rectangle } from '../../engine/ledger.ts';
import { models } from '../../engine/models/index.ts';
import { isoInstant } from '../../platform/clock.ts';
import { conflict, invalidMany } from '../../platform/http/errors.ts';
import type { Violation } from '../../platform/http/errors.ts';
import { checked } from '../../platform/http/validator.ts';
import type { Transaction } from '../../platform/postgres/database.ts';
import { databaseInstant } from '../../platform/postgres/instant.ts';
import { findBackfill, listOpenBackfills } from './backfills_store.ts';
import { whileWaiting } from './bounded.ts';
import { instantViolations, rangeViolations } from './instants.ts';
import type { Place } from './place.ts';
import { NewBackfill } from './schema.ts';
import type { Backfill } from './schema.ts';
import type { LockedExport } from './store.ts';

/** More runs than this in one backfill are surely a slip of the year: five minutes over almost five years. */
const runs_max = 500_000;
/** More open backfills than this of one export would only wait for each other. */
const open_backfills_max = 20;

type Range = { from: number; to: number; mode: 'missing' | 'all' };

/** Starts the backfill that the body asks for, or with `dry_run` only says how much it would be. The caller holds the lock on the export. Throws 400 for a wrong range. */
export async function backfill(engine: Engine, tx: Transaction, place: Place, row: LockedExport, raw: unknown): Promise<Backfill> {
  const body = checked(NewBackfill, raw);
  const range: Range = { from: Date.parse(body.start_at), to: Date.parse(body.end_at), mode: body.mode ?? 'missing' };
  const violations = violationsOf(body, row, range, await databaseInstant(tx));
  if (violations.length > 0) throw invalidMany(violations);
  if (body.dry_run === true) return dryRun(engine, tx, row, range);
  if ((await listOpenBackfills(tx, row.id)).length >= open_backfills_max)
    throw conflict(`${open_backfills_max} backfills of this export are under way: wait for one to end, or cancel one.`);
  const id = await startBackfill(tx, row.id, range);
  return (await findBackfill(tx, place, row.id, id))!;
}

function violationsOf(body: NewBackfill, row: LockedExport, range: Range, now: number): Violation[] {
  const wrong = [...instantViolations({ start_at: body.start_at, end_at: body.end_at }), ...rangeViolations(body.start_at, body.end_at)];
  if (wrong.length > 0) return wrong;
  if (range.to > now + nominalLength(row.interval))
    return [{ attr: 'end_at', code: 'invalid_input', detail: `Must be at most one interval after now: ${isoInstant(now + nominalLength(row.interval))}.` }];
  // Both sides can lie within one millisecond, which is the ledger's grain.
  if (range.from === range.to) return [{ attr: 'end_at', code: 'invalid_input', detail: 'Must be at least a millisecond after start_at.' }];
  const runs = intervalCount(row.interval, row.timezone, range.from, range.to);
  if (runs > runs_max)
    return [
      { attr: 'start_at', code: 'invalid_input', detail: `This range takes ${runs} runs and one backfill has at most ${runs_max}: take a later start_at.` },
    ];
  return [];
}

/** Counts the rows of the whole range as they are now, in one query. */
async function dryRun(engine: Engine, tx: Transaction, row: LockedExport, range: Range): Promise<Backfill> {
  const watermark = (await databaseInstant(tx)) - engine.settle_seconds * 1000;
  const model = models[row.model];
  const base: Rectangle = model.has_event_time
    ? { event_from: range.from, event_to: range.to, inserted_from: -Infinity, inserted_to: watermark }
    : { event_from: -Infinity, event_to: Infinity, inserted_from: range.from, inserted_to: Math.min(range.to, watermark) };
  const all = [base].filter((side) => side.inserted_from < side.inserted_to);
  const selection = range.mode === 'all' ? all : await undelivered(tx, row.id, row.revision, all);
  const runs = intervalCount(row.interval, row.timezone, range.from, range.to);
  return {
    id: null,
    batch_export: row.id,
    status: 'DryRun',
    mode: range.mode,
    start_at: isoInstant(range.from),
    end_at: isoInstant(range.to),
    runs,
    created_at: null,
    finished_at: null,
    last_updated_at: null,
    progress: {
      total_runs: runs,
      finished_runs: 0,
      completed_runs: 0,
      records_completed: 0,
      records_total_count: selection.length === 0 ? 0 : await countRows(engine, row, selection),
    },
  };
}

async function countRows(engine: Engine, row: LockedExport, selection: Rectangle[]): Promise<number> {
  const relation = models[row.model].relation(row.team_id, selection);
  const query = { query: `SELECT toUInt64(count()) AS records FROM ${relation.text}`, query_params: relation.parameters, format: 'JSONEachRow' as const };
  const [counted] = await whileWaiting(async (signal) => {
    const result = await engine.clickhouse.query({ ...query, abort_signal: signal });
    return result.json<{ records: string | number }>();
  });
  return Number(counted?.records ?? 0);
}
