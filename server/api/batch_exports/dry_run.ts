import type { BackfillRange } from '../../engine/backfill.ts';
import { backfillArea } from '../../engine/backfill_area.ts';
import { undelivered } from '../../engine/deliveries.ts';
import type { Engine } from '../../engine/engine.ts';
import { boundaryAfter, intervalCount } from '../../engine/interval.ts';
import { intersect, toStored } from '../../engine/ledger.ts';
import type { Rectangle } from '../../engine/ledger.ts';
import { openReading } from '../../engine/reading.ts';
import { countRecords } from '../../engine/source.ts';
import { isoInstant } from '../../platform/clock.ts';
import { invalid } from '../../platform/http/errors.ts';
import type { Transaction } from '../../platform/postgres/database.ts';
import { databaseInstant } from '../../platform/postgres/instant.ts';
import { readingNow } from './reading_now.ts';
import type { StoreNow } from './reading_now.ts';
import type { Backfill } from './schema.ts';
import type { LockedExport } from './store.ts';

/** More runs than this are not counted one by one while a request waits. */
const counted_runs_max = 500;
/** After this long no further run is counted. */
const counting_ms_max = 20_000;

/** A run of the backfill: the end of its interval and what it reads. */
type Part = { to: number; selection: Rectangle[] };

/** Says how many runs and rows a backfill would be, with the rows as they are now. Throws a 400 where that takes too long to count. */
export async function dryRun(engine: Engine, tx: Transaction, row: LockedExport, range: BackfillRange): Promise<Backfill> {
  const watermark = (await databaseInstant(tx)) - engine.settle_seconds * 1000;
  const all = [backfillArea(range.by, range.from, range.to, watermark)].filter((side) => side.inserted_from < side.inserted_to);
  const selection = range.mode === 'all' ? all : await undelivered(tx, row.id, row.revision, all);
  const runs = intervalCount(row.interval, row.timezone, range.from, range.to);
  const records =
    selection.length === 0 ? 0 : await readingNow(engine, null, (store, signal) => countRows(store, signal, row, { ...range, watermark, selection }));
  return {
    id: null,
    batch_export: row.id,
    status: 'DryRun',
    mode: range.mode,
    by: range.by,
    start_at: isoInstant(range.from),
    end_at: isoInstant(range.to),
    runs,
    created_at: null,
    finished_at: null,
    last_updated_at: null,
    progress: { total_runs: runs, finished_runs: 0, completed_runs: 0, records_completed: 0, records_total_count: records },
  };
}

/** Counts in one query where each row stands for itself; what a query makes of several rows depends on which of them are in one run, so then each run is counted. */
async function countRows(
  store: StoreNow,
  signal: AbortSignal,
  row: LockedExport,
  range: BackfillRange & { watermark: number; selection: Rectangle[] },
): Promise<number> {
  const open = ({ to, selection }: Part) => openReading(store, { ...row, selection: toStored(selection), data_interval_end: isoInstant(to) });
  const whole = await open(range);
  if (whole.key !== undefined) return countRecords(store, whole, signal);
  const parts = partsOf(row, range);
  const began = performance.now();
  let records = 0;
  for (const part of parts) {
    if (performance.now() - began > counting_ms_max)
      throw invalid('start_at', 'invalid_input', 'The rows of this query are counted run by run, which takes too long for this range: take a later start_at.');
    records += await countRecords(store, await open(part), signal);
  }
  return records;
}

function partsOf(row: LockedExport, range: BackfillRange & { watermark: number; selection: Rectangle[] }): Part[] {
  const parts: Part[] = [];
  for (let from = range.from; from < range.to;) {
    const to = Math.min(boundaryAfter(row.interval, row.timezone, from), range.to);
    const selection = intersect(range.selection, [backfillArea(range.by, from, to, range.watermark)]);
    if (selection.length > 0) parts.push({ to, selection });
    if (parts.length > counted_runs_max)
      throw invalid(
        'start_at',
        'invalid_input',
        `The rows of this query are counted run by run, and a dry run counts at most ${counted_runs_max} runs: take a later start_at.`,
      );
    from = to;
  }
  return parts;
}
