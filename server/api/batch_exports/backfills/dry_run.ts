import type { BackfillRange } from '../../../engine/exports/planning/backfill.ts';
import { backfillArea } from '../../../engine/exports/planning/backfill_area.ts';
import { countByRun, listed_runs_max } from '../../../engine/exports/planning/backfill_counts.ts';
import type { BackfillCounts } from '../../../engine/exports/planning/backfill_counts.ts';
import { row_tables } from '../../../engine/model/removals/delete_rows.ts';
import { undelivered } from '../../../engine/model/ledger/ledger.ts';
import { removedFrom } from '../../../engine/model/ledger/removed.ts';
import type { Engine } from '../../../engine/exports/engine.ts';
import { boundaryAfter, intervalCount } from '../../../engine/exports/planning/interval.ts';
import { intersect, subtract, toStored } from '../../../engine/model/ledger/rectangles.ts';
import type { Rectangle } from '../../../engine/model/ledger/rectangles.ts';
import { openSourceQuery } from '../../../engine/exports/source/source_query.ts';
import type { Source } from '../../../engine/exports/source/source_query.ts';
import { countRecords } from '../../../engine/exports/source/source.ts';
import { caughtUp } from '../../../platform/clickhouse/topology/caught_up.ts';
import { isoInstant } from '../../../platform/clock.ts';
import { counted } from '../../../platform/counted.ts';
import type { Place } from '../../../platform/http/caller/mount.ts';
import { invalid } from '../../../platform/http/errors.ts';
import { isDatabaseError } from '../../../platform/postgres/database.ts';
import type { Transaction } from '../../../platform/postgres/database.ts';
import { databaseInstant } from '../../../platform/postgres/instant.ts';
import { readingNow } from '../drafts/reading_now.ts';
import type { StoreNow } from '../drafts/reading_now.ts';
import type { Backfill } from './schema.ts';
import type { LockedExport } from '../store.ts';

/** Time for which the answer to a new backfill waits for its forecast. */
const outlook_ms_max = 2_000;
/** Most runs that are counted one by one while a request waits. */
const counted_runs_max = 500;
/** Time limit for counting runs one by one. */
const counting_ms_max = 20_000;

/**
 * The range that a backfill would read, with the part that runs have delivered or are about to
 * deliver.
 */
type Wanted = BackfillRange & { watermark: number; selection: Rectangle[]; taken: Rectangle[] };
/** A backfill that was only planned, with its plan. */
type DryRun = Backfill & { plan: NonNullable<Backfill['plan']> };
type Counted = BackfillCounts & { delivered: number | null };

/**
 * Returns the runs and rows that a backfill would have if it started now. Throws 400 if counting
 * takes too long.
 */
export async function dryRun(
  engine: Engine,
  tx: Transaction,
  { organization_id }: Place,
  row: LockedExport,
  range: BackfillRange,
): Promise<DryRun> {
  const asked = { attr: null, custom_query: row.custom_query, organization_id };
  return planOf(tx, row, range, (wanted) =>
    readingNow(engine, asked, (store, signal) => count(store, signal, row, wanted)),
  );
}

/**
 * Returns the same for a backfill that is about to start; undefined with a query, or if counting
 * takes longer than two seconds.
 */
export async function outlookOf(
  engine: Engine,
  tx: Transaction,
  row: LockedExport,
  range: BackfillRange,
): Promise<DryRun | undefined> {
  if (row.custom_query !== null) return undefined;
  const signal = AbortSignal.timeout(outlook_ms_max);
  try {
    return await planOf(tx, row, range, (wanted) =>
      caughtUp(engine.clickhouse, row_tables, () => count(engine, signal, row, wanted)),
    );
  } catch (error) {
    if (isDatabaseError(error)) throw error;
    // A timeout is expected, so its stack is not logged.
    const fault = signal.aborted ? {} : { err: error };
    engine.log.info(fault, 'a backfill starts without a forecast');
    return undefined;
  }
}

/** Says what a backfill would deliver, and that it was not started. */
function planSentence({ records, delivered, runs: filled }: Counted, runs: number): string {
  const rows = counted(records, 'row');
  const plan = `It would deliver ${rows} in ${filled} of ${counted(runs, 'run')}.`;
  const verb = delivered === 1 ? 'is' : 'are';
  const others =
    delivered === null
      ? ''
      : ` ${counted(delivered, 'row')} of the range ${verb} delivered already, or in progress.`;
  return `A dry run: nothing was started. ${plan}${others}`;
}

async function planOf(
  tx: Transaction,
  row: LockedExport,
  range: BackfillRange,
  countWanted: (wanted: Wanted) => Promise<Counted>,
): Promise<DryRun> {
  const watermark = await databaseInstant(tx);
  const all = [backfillArea(range.by, range.from, range.to, watermark)].filter(
    (side) => side.inserted_from < side.inserted_to,
  );
  const missing = await undelivered(tx, row.id, row.revision, all);
  const wanted = {
    ...range,
    watermark,
    selection: range.mode === 'all' ? all : missing,
    taken: subtract(all, missing),
  };
  const found = await countWanted(wanted);
  const runs = intervalCount(row, range.from, range.to);
  const removed = await removedFrom(tx, row.team_id, range.from);
  return {
    id: null,
    batch_export: row.id,
    status: 'DryRun',
    mode: range.mode,
    by: range.by,
    is_run_now: false,
    start_at: isoInstant(range.from),
    end_at: isoInstant(range.to),
    runs,
    detail: `${planSentence(found, runs)} ${removed}`.trim(),
    settles_at: null,
    created_at: null,
    finished_at: null,
    last_updated_at: null,
    progress: {
      total_runs: runs,
      finished_runs: 0,
      completed_runs: 0,
      records_completed: 0,
      records_total_count: found.records,
      records_elsewhere: range.mode === 'all' ? 0 : (found.delivered ?? 0),
    },
    plan: {
      records_delivered_count: found.delivered,
      runs_with_records: found.runs,
      runs: found.listed.map(({ from, records }) => ({
        data_interval_start: isoInstant(from),
        data_interval_end: isoInstant(endOf(row, range, from)),
        records_total_count: records,
      })),
    },
  };
}

/**
 * Counts all runs with two queries (rows to read, rows to deliver) if the store can tell the runs
 * apart. Otherwise counts each run.
 */
async function count(
  store: StoreNow,
  signal: AbortSignal,
  row: LockedExport,
  wanted: Wanted,
): Promise<Counted> {
  const cut = { rhythm: row, from: wanted.from, to: wanted.to, by: wanted.by };
  const over = (selection: Rectangle[]) =>
    countByRun(store, sourceOf(row, selection, wanted.to), cut, signal);
  const counts = await over(wanted.selection);
  if (counts === undefined)
    return { ...(await countEach(store, signal, row, wanted)), delivered: null };
  return {
    ...counts,
    delivered: wanted.taken.length === 0 ? 0 : ((await over(wanted.taken))?.records ?? null),
  };
}

async function countEach(
  store: StoreNow,
  signal: AbortSignal,
  row: LockedExport,
  wanted: Wanted,
): Promise<BackfillCounts> {
  const began = performance.now();
  const counts: BackfillCounts = { records: 0, runs: 0, listed: [] };
  for (const { from, to, selection } of partsOf(row, wanted)) {
    if (performance.now() - began > counting_ms_max)
      throw invalid(
        'start_at',
        'invalid_input',
        'The rows of this query are counted run by run, which takes too long for this range: ' +
          'take a later start_at.',
      );
    const records = await countRecords(
      store,
      await openSourceQuery(store, sourceOf(row, selection, to)),
      signal,
    );
    counts.records += records;
    if (records === 0) continue;
    counts.runs += 1;
    if (counts.listed.length < listed_runs_max) counts.listed.push({ from, records });
  }
  return counts;
}

function sourceOf(row: LockedExport, selection: Rectangle[], to: number): Source {
  return { ...row, selection: toStored(selection), data_interval_end: isoInstant(to) };
}

function endOf(row: LockedExport, { to }: BackfillRange, from: number): number {
  return Math.min(boundaryAfter(row, from), to);
}

function partsOf(
  row: LockedExport,
  wanted: Wanted,
): { from: number; to: number; selection: Rectangle[] }[] {
  const parts: { from: number; to: number; selection: Rectangle[] }[] = [];
  for (let from = wanted.from; from < wanted.to;) {
    const to = endOf(row, wanted, from);
    const selection = intersect(wanted.selection, [
      backfillArea(wanted.by, from, to, wanted.watermark),
    ]);
    if (selection.length > 0) parts.push({ from, to, selection });
    if (parts.length > counted_runs_max)
      throw invalid(
        'start_at',
        'invalid_input',
        'The rows of this query are counted run by run, and a dry run counts at most ' +
          `${counted_runs_max} runs: take a later start_at.`,
      );
    from = to;
  }
  return parts;
}
