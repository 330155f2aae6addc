import sql from 'sql-template-tag';
import type { Engine } from '../../../engine/exports/engine.ts';
import { countByRun, listed_runs_max } from '../../../engine/exports/planning/backfill_counts.ts';
import type { BackfillCut } from '../../../engine/exports/planning/backfill_counts.ts';
import type { BackfillBy } from '../../../engine/exports/planning/backfill_area.ts';
import { boundaryAfter, intervalCount } from '../../../engine/exports/planning/interval.ts';
import type { Rhythm } from '../../../engine/exports/planning/interval.ts';
import { toStored } from '../../../engine/model/ledger/rectangles.ts';
import type { Rectangle } from '../../../engine/model/ledger/rectangles.ts';
import type { ModelName } from '../../../engine/model/models/model.ts';
import { isoInstant } from '../../../platform/clock.ts';
import { invalid } from '../../../platform/http/errors.ts';
import type { Queryable } from '../../../platform/postgres/database.ts';
import { readingNow } from '../drafts/reading_now.ts';
import { areasOf } from './areas.ts';
import type { CountedExport } from './areas.ts';
import { sentenceOf } from './sentence.ts';
import type { Proof, ProofCounts } from './schema.ts';
import { inOneLook } from '../slots/store.ts';

/** The export whose rows are counted. */
export type ProvenExport = CountedExport &
  Rhythm & {
    team_id: number;
    model: ModelName;
    custom_query: string | null;
    destination_config: Record<string, unknown> | null;
  };

/** A range in milliseconds, by one of the two clocks. */
export type ProofRange = { after: number; before: number; by: BackfillBy };

/** Rows by the start of their period (milliseconds); undefined if they cannot be counted. */
type Rows = Map<number, number> | undefined;

/**
 * Compares the stored rows of a range with the ledger, both as of one instant; later arrivals are
 * excluded.
 */
export async function countProof(
  engine: Engine,
  organization_id: string,
  row: ProvenExport,
  range: ProofRange,
  now: number,
): Promise<Proof> {
  const until = now - engine.settle_seconds * 1_000;
  const rhythm = rhythmOf(row, range);
  const cut = { rhythm, from: range.after, to: range.before, by: range.by };
  const areas = await inOneLook(engine.db, (tx) => areasOf(tx, row, { ...range, until }));
  const asked = { attr: 'after', custom_query: row.custom_query, organization_id };
  const rows = await readingNow(engine, asked, async (store, signal) => {
    const count = async (selection: Rectangle[], source = row): Promise<Rows> => {
      if (selection.length === 0) return new Map();
      const area = { selection: toStored(selection), data_interval_end: isoInstant(range.before) };
      const reading = { ...source, ...area };
      const counted = await countByRun(store, reading, cut, signal);
      return counted && new Map(counted.listed.map(({ from, records }) => [from, records]));
    };
    const everything = { ...row, custom_query: null, destination_config: null };
    return {
      stored: (await count(areas.all, everything)) ?? new Map<number, number>(),
      matching: await count(areas.all),
      delivered: await count(areas.delivered),
      delivered_twice: await count(areas.delivered_twice),
      in_progress: await count(areas.in_progress),
      waiting: await count(areas.waiting),
    };
  });
  const beside = await listBeside(engine.db, row, range);
  const startOf = (at: number) => periodStart(cut, at);
  const set_aside = sumByPeriod(beside.set_aside, startOf);
  const erased = sumByPeriod(beside.erased, startOf);
  const starts = new Set([...rows.stored.keys(), ...set_aside.keys(), ...erased.keys()]);
  const periods = [...starts]
    .sort((one, other) => one - other)
    .map((from) => ({
      start_at: isoInstant(from),
      end_at: isoInstant(Math.min(boundaryAfter(rhythm, from), range.before)),
      ...countsOf(rows, from, set_aside.get(from) ?? 0, erased.get(from) ?? 0),
    }));
  const totals = sumOf(periods, rows.matching !== undefined);
  return {
    after: isoInstant(range.after),
    before: isoInstant(range.before),
    by: range.by,
    counted_until: isoInstant(Math.min(until, range.before)),
    detail: sentenceOf(totals),
    totals,
    unit: rhythm.interval,
    periods,
  };
}

/**
 * Returns the start of the period that contains an instant; the first period starts with the range.
 */
function periodStart({ rhythm, from }: BackfillCut, at: number): number {
  let start = from;
  for (let next = boundaryAfter(rhythm, start); next <= at;) {
    start = next;
    next = boundaryAfter(rhythm, start);
  }
  return start;
}

/** Returns periods of the export's interval, or of days or weeks if there would be too many. */
function rhythmOf(
  { interval, timezone, offset_minutes }: Rhythm,
  { after, before }: ProofRange,
): Rhythm {
  for (const unit of [interval, 'day', 'week'] as const) {
    const rhythm = { interval: unit, timezone, offset_minutes };
    if (intervalCount(rhythm, after, before) <= listed_runs_max) return rhythm;
  }
  throw invalid('after', 'max_items', `A range has at most ${listed_runs_max} weeks.`);
}

type CountedRows = Record<
  'matching' | 'delivered' | 'delivered_twice' | 'in_progress' | 'waiting',
  Rows
> & { stored: Map<number, number> };

function countsOf(rows: CountedRows, from: number, set_aside: number, erased: number): ProofCounts {
  const stored = rows.stored.get(from) ?? 0;
  const { matching } = rows;
  if (matching === undefined)
    return {
      stored,
      left_out: null,
      delivered: null,
      delivered_twice: null,
      set_aside: null,
      in_progress: null,
      waiting: null,
      not_delivered: null,
      erased,
    };
  const of = (name: 'delivered' | 'delivered_twice' | 'in_progress' | 'waiting') =>
    rows[name]?.get(from) ?? 0;
  const wanted = matching.get(from) ?? 0;
  const taken = of('delivered');
  const aside = Math.min(set_aside, taken);
  return {
    stored,
    left_out: stored - wanted,
    delivered: taken - aside,
    delivered_twice: of('delivered_twice'),
    set_aside: aside,
    in_progress: of('in_progress'),
    waiting: of('waiting'),
    not_delivered: wanted - taken - of('in_progress') - of('waiting'),
    erased,
  };
}

function sumOf(periods: ProofCounts[], is_traced: boolean): ProofCounts {
  const add = (name: keyof ProofCounts) =>
    periods.reduce((sum, period) => sum + (period[name] ?? 0), 0);
  const traced = (name: keyof ProofCounts) => (is_traced ? add(name) : null);
  return {
    stored: add('stored'),
    left_out: traced('left_out'),
    delivered: traced('delivered'),
    delivered_twice: traced('delivered_twice'),
    set_aside: traced('set_aside'),
    in_progress: traced('in_progress'),
    waiting: traced('waiting'),
    not_delivered: traced('not_delivered'),
    erased: add('erased'),
  };
}

type Beside = { at: string; rows: number };

/** Counts rows set aside and rows erased since, by the data intervals of the deliveries. */
async function listBeside(
  db: Queryable,
  { id, revision }: ProvenExport,
  { after, before }: ProofRange,
): Promise<{ set_aside: Beside[]; erased: Beside[] }> {
  const [from, to] = [isoInstant(after), isoInstant(before)];
  const within = sql`data_interval_start >= ${from}::timestamptz
    AND data_interval_start < ${to}::timestamptz`;
  return {
    // The newest run of a repeated delivery has the number.
    set_aside: await db.rows<Beside>(sql`
      SELECT at, rows FROM (SELECT DISTINCT ON (delivery_id) data_interval_start AS at,
          records_rejected AS rows FROM batch_export_runs
        WHERE batch_export_id = ${id} AND revision = ${revision} AND status = 'Completed'
          AND ${within} ORDER BY delivery_id, finished_at DESC) newest WHERE rows > 0`),
    erased: await db.rows<Beside>(sql`
      SELECT data_interval_start AS at, sum(records)::bigint AS rows FROM erasure_copies
      WHERE batch_export_id = ${id} AND ${within} GROUP BY 1`),
  };
}

function sumByPeriod(beside: Beside[], startOf: (at: number) => number): Map<number, number> {
  const sums = new Map<number, number>();
  for (const { at, rows } of beside) {
    const start = startOf(Date.parse(at));
    sums.set(start, (sums.get(start) ?? 0) + rows);
  }
  return sums;
}
