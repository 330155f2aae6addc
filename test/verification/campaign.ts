import sql from 'sql-template-tag';
import { processorTime } from '../../bench/measure/processor_time.ts';
import type { Deps } from '../../server/deps.ts';
import { maintainLake } from '../../server/engine/exports/lake_maintenance/delta/delta_work.ts';
import { workOneStep } from '../../server/engine/privacy/erasures/work.ts';
import { retainRows } from '../../server/engine/privacy/retention/look.ts';
import { openRandom } from '../chaos/random.ts';
import type { QueryHarness } from '../factories/batch_exports/query_exports.ts';
import { lookAt } from '../factories/batch_exports/looks.ts';
import { nameOf, rows_an_hour } from './places.ts';
import type { LookedPlace, Planted } from './places.ts';

const never = new AbortController().signal;
const hour_ms = 3_600_000;
const first_hour = Date.parse('2026-01-01T00:00:00Z');
const at = (hour: number, minute = 0) =>
  new Date(first_hour + hour * hour_ms + minute * 60_000).toISOString().replace('.000', '');

/** An open finding. */
type Found = {
  kind: string;
  delivery_id: string | null;
  start: string | null;
  differences: number;
};

/** An hourly export of events to a place, and the functions of a campaign. */
export async function openLooked(exporting: QueryHarness, place: LookedPlace) {
  const { deps } = exporting.harness;
  const home = await exporting.harness.newOrganization();
  const body = { name: `looked at, ${place.name}`, destination: place.destination };
  const made = await exporting.scheduled(home, body, 1);
  let hours = 0;
  const watch = async () =>
    (await deps.db.row<{ verified_through: string | null; reason: string | null }>(sql`
      SELECT verified_through, reason FROM batch_export_watches
      WHERE batch_export_id = ${made.id}`))!;
  return {
    ...made,
    home,
    watch,
    hours: () => hours,
    /** Stores rows of some hours and delivers them, an hour in each run. */
    deliver: async (more: number, rows = rows_an_hour) => {
      const from = hours;
      hours += more;
      const events = Array.from({ length: more * rows }, (_, index) => {
        const hour = from + Math.floor(index / rows);
        const n = index % rows;
        const minute = Math.floor((60 * n) / rows);
        const distinct_id = `person ${n}`;
        return {
          event: nameOf(hour, n),
          at: at(hour, minute),
          distinct_id,
          properties: { n, hour },
        };
      });
      await exporting.insert(home, events);
      await deps.db.run(sql`
        UPDATE batch_exports SET end_at = ${at(hours)},
          next_run_at = coalesce(next_run_at, planned_until + interval '1 hour')
        WHERE id = ${made.id}`);
      const runs = await exporting.runAll(made.id);
      const wrong = runs.find(({ status }) => status !== 'Completed');
      if (wrong !== undefined) throw new Error(`${place.name}: ${JSON.stringify(wrong)}`);
    },
    look: (given?: { balance_ms: number | null; is_forced?: boolean }) =>
      lookAt(deps, made.id, given),
    found: () =>
      deps.db.rows<Found>(sql`
        SELECT kind, delivery_id, data_interval_start AS start, differences
        FROM batch_export_deviations
        WHERE batch_export_id = ${made.id} AND resolved_at IS NULL`),
  };
}

/** An export of a campaign. */
export type Looked = Awaited<ReturnType<typeof openLooked>>;

/** Counts of a campaign at one place. */
export type Tally = {
  planted: number;
  found: number;
  false_alarms: number;
  by: Record<string, number>;
};

/**
 * Plants this many changes in rounds, at most one in each delivery, and looks once after each
 * round. All must be found, nothing else, and nothing after they were undone.
 */
export async function plantChanges(
  place: LookedPlace,
  looked: Looked,
  { seed, changes }: { seed: number; changes: number },
): Promise<Tally> {
  const random = openRandom(seed, 1);
  const say = (line: string) => console.log(`${place.name}: ${line}`);
  const tally: Tally = { planted: 0, found: 0, false_alarms: 0, by: {} };
  while (tally.planted < changes) {
    const hours = Array.from({ length: looked.hours() }, (_, hour) => hour).filter(
      () => random.between(0, 3) > 0,
    );
    const planted = await place.plant(random, hours.slice(0, changes - tally.planted));
    await looked.look();
    count(tally, planted, await looked.found(), say);
    if (planted.length > 0 && (await looked.watch()).verified_through === at(looked.hours()))
      throw new Error(`${place.name}: verified although ${planted.length} changes are there`);
    await place.restore();
    await looked.look();
    tally.false_alarms += (await looked.found()).length;
    say(`${tally.found} of ${tally.planted} found, ${tally.false_alarms} false alarms`);
    const { verified_through } = await looked.watch();
    if (!verified_through?.startsWith(at(looked.hours()).slice(0, 19)))
      throw new Error(`${place.name}: verified through ${verified_through} after all is mended`);
  }
  return tally;
}

function count(tally: Tally, planted: Planted[], found: Found[], say: (line: string) => void) {
  const left = new Set(found);
  const isOf = ({ delivery_id, start }: Found, of: string | null) =>
    of === null
      ? delivery_id === null
      : delivery_id !== null &&
        (delivery_id.endsWith(of) || start?.slice(0, 19) === of.slice(0, 19));
  for (const one of planted) {
    tally.planted += 1;
    tally.by[one.change] = (tally.by[one.change] ?? 0) + 1;
    const kinds = one.kind === 'changed' ? ['changed', 'unreadable'] : [one.kind];
    const match = found.find((other) => kinds.includes(other.kind) && isOf(other, one.of));
    if (match === undefined) {
      say(`not found: ${JSON.stringify(one)}`);
      continue;
    }
    tally.found += 1;
    left.delete(match);
  }
  const strangers = planted.filter(({ of }) => of === null).length;
  const told = found.find(({ kind, delivery_id }) => kind === 'foreign' && delivery_id === null);
  if ((told?.differences ?? 0) !== strangers)
    say(`${told?.differences ?? 0} foreign of ${strangers} are told`);
  for (const one of left) say(`a false alarm: ${JSON.stringify(one)}`);
  tally.false_alarms += left.size;
}

/** Figures of a week without foreign changes. */
export type Week = {
  false_alarms: number;
  deliveries: number;
  /** Processor time of this process and its children in seconds: of deliveries, and of looks. */
  delivering_s: number;
  looking_s: number;
  verified_through: string | null;
};

/**
 * Plays days of hourly deliveries. Looks have the budget of the export. Meanwhile the place
 * maintains its rows, the lake compacts, persons are erased and retention removes rows.
 */
export async function playWeek(
  exporting: QueryHarness,
  place: LookedPlace,
  looked: Looked,
  { days, rows }: { days: number; rows: number },
): Promise<Week> {
  const { harness } = exporting;
  const { deps } = harness;
  const week = { false_alarms: 0, deliveries: 0, delivering_s: 0, looking_s: 0 };
  const timed = async (part: 'delivering_s' | 'looking_s', work: () => Promise<unknown>) => {
    const began = processorTime(process.pid, 'with children');
    await work();
    week[part] += (processorTime(process.pid, 'with children') - began) / 1e6;
  };
  for (let day = 0; day < days; day += 1) {
    await timed('delivering_s', () => looked.deliver(24, rows));
    week.deliveries += 24;
    await timed('looking_s', () => looked.look({ balance_ms: null }));
    week.false_alarms += (await looked.found()).length;
    await place.keepHouse();
    await maintainLake(deps.engine, never);
    if (day === 1) await erasePerson(exporting, looked);
    if (day === 2) await retain(exporting, looked);
    await timed('looking_s', () => looked.look({ balance_ms: null }));
    week.false_alarms += (await looked.found()).length;
  }
  // At the end everything is read, whatever the budget.
  await looked.look();
  week.false_alarms += (await looked.found()).length;
  return { ...week, verified_through: (await looked.watch()).verified_through };
}

/**
 * Processor time of a week in which only the schedule decides: of deliveries, of hours with a look,
 * and of hours in which it decided against one.
 */
export type ScheduledWeek = {
  delivering_s: number;
  looking_s: number;
  deciding_s: number;
  looks: number;
};

/**
 * Plays weeks of hourly deliveries, an hour at a time: the schedule decides after each hour whether
 * it looks. A lake is maintained once a day. The first week has the credit of a new export.
 */
export async function playSchedule(
  { harness: { deps } }: QueryHarness,
  looked: Looked,
  { weeks, rows }: { weeks: number; rows: number },
): Promise<ScheduledWeek[]> {
  const told: ScheduledWeek[] = [];
  for (let week = 0; week < weeks; week += 1) {
    const one = { delivering_s: 0, looking_s: 0, deciding_s: 0, looks: 0 };
    for (let hour = 0; hour < 7 * 24; hour += 1) {
      if (hour % 24 === 0) {
        await deps.db.run(sql`UPDATE lake_maintenance SET due_at = now()`);
        await maintainLake(deps.engine, never);
      }
      const began = processorTime(process.pid, 'with children');
      await looked.deliver(1, rows);
      const delivered = processorTime(process.pid, 'with children');
      one.delivering_s += (delivered - began) / 1e6;
      await deps.db.run(sql`
        UPDATE batch_export_watches SET verified_at = verified_at - interval '1 hour',
          cycle_started_at = cycle_started_at - interval '1 hour',
          cycle_looked_at = cycle_looked_at - interval '1 hour',
          cycle_ended_at = cycle_ended_at - interval '1 hour'
        WHERE batch_export_id = ${looked.id}`);
      const before = await lookedAt(deps, looked.id);
      await looked.look({ balance_ms: null, is_forced: false });
      const used = (processorTime(process.pid, 'with children') - delivered) / 1e6;
      const has_looked = (await lookedAt(deps, looked.id)) !== before;
      one[has_looked ? 'looking_s' : 'deciding_s'] += used;
      if (has_looked) one.looks += 1;
    }
    told.push(one);
  }
  return told;
}

/** Returns when the newest look or part of a look ended; a look may pause after a part. */
async function lookedAt({ db }: Pick<Deps, 'db'>, id: string): Promise<string | null> {
  const row = await db.row<{ at: string | null }>(
    sql`SELECT greatest(verified_at, cycle_looked_at) AS at FROM batch_export_watches
      WHERE batch_export_id = ${id}`,
  );
  return row?.at ?? null;
}

async function erasePerson(exporting: QueryHarness, { home, id }: Looked): Promise<void> {
  const { harness } = exporting;
  const asked = await home.ask('POST', `/api/projects/${home.project.id}/erasures/`, {
    distinct_ids: ['person 1'],
  });
  if (asked.status >= 300) throw new Error(JSON.stringify(asked.body));
  const path = `/api/projects/${home.project.id}/erasures/${asked.body.id}/`;
  for (let turn = 0; turn < 100; turn += 1) {
    // As if minutes had passed, after which the store has removed the files of rewritten rows.
    await harness.deps.db.run(sql`UPDATE erasures SET due_at = '2026-01-01Z', removed_at =
      CASE step WHEN 'files' THEN '2026-01-01Z' ELSE removed_at END WHERE id = ${asked.body.id}`);
    await workOneStep(harness.deps.engine, never, 0);
    // Runs write files again.
    await exporting.runAll(id);
    if ((await home.ask('GET', path)).body.step === 'done') return;
  }
  const { body } = await home.ask('GET', path);
  throw new Error(`the erasure does not end: ${JSON.stringify(body)}`);
}

async function retain({ harness }: QueryHarness, { home }: Looked): Promise<void> {
  const path = `/api/projects/${home.project.id}/`;
  const asked = await home.ask('PATCH', path, { retention: 'days', retention_days: 30 });
  if (asked.status >= 300) throw new Error(JSON.stringify(asked.body));
  await retainRows(harness.deps, never);
}

/** Makes the place unreachable, and returns the text of the export then. */
export async function takeAway(exporting: QueryHarness, place: LookedPlace, looked: Looked) {
  const { db } = exporting.harness.deps;
  const before = (await looked.watch()).verified_through;
  await db.run(sql`UPDATE batch_exports SET destination_config =
    destination_config || ${JSON.stringify(place.away)}::jsonb WHERE id = ${looked.id}`);
  await looked.look();
  const { verified_through, reason } = await looked.watch();
  return { stands_still: verified_through === before, reason };
}
