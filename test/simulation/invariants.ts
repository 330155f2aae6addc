import assert from 'node:assert/strict';
import sql, { raw } from 'sql-template-tag';
import {
  fromStored,
  intersect,
  subtract,
  union,
} from '../../server/engine/model/ledger/rectangles.ts';
import type { Rectangle, StoredRectangle } from '../../server/engine/model/ledger/rectangles.ts';
import { contains } from '../factories/events/areas.ts';
import type { Held } from './destination.ts';
import type { World } from './world.ts';

type Run = {
  id: string;
  revision: number;
  status: string;
  delivery_id: string;
  selection: StoredRectangle[];
  is_marked: boolean;
  is_make_up: boolean;
  is_cancelling: boolean;
  backfill_id: string | null;
  backfill: Backfill | null;
  from_ms: number;
  to_ms: number;
  created_ms: number;
  finished_ms: number | null;
};
type Backfill = { mode: string; selects_by: string; watermark_ms: number; status: string };
type Ended = Backfill & { revision: number; from_ms: number; to_ms: number };

const open_statuses = ['Starting', 'Running'];
const isOpen = ({ status }: Run) => open_statuses.includes(status);
const isCompleted = ({ status }: Run) => status === 'Completed';
const isTaken = (run: Run) => isOpen(run) || isCompleted(run) || run.is_marked;
const areasOf = (runs: Run[]) => runs.flatMap(({ selection }) => fromStored(selection));

/**
 * Compares runs, ledger, source and destination with each other between two rounds. These rules
 * always hold, whatever is in progress.
 */
export async function assertConsistent(world: World): Promise<void> {
  const { db } = world.simulator;
  for (const fault of world.faults) throw fault;
  const wrong = await db.rows<{ what: string }>(sql`SELECT what FROM virtual.wrong`);
  assert.deepEqual(wrong, [], 'what must never be');
  const runs = await listRuns(world);
  assertShown(world, runs);
  if (!world.is_struck) assertDoubts(world, runs);
  const left = runs.filter(
    (run) => isOpen(run) && run.backfill?.status === 'Cancelled' && !run.is_cancelling,
  );
  // A run may be retried after its backfill was cancelled.
  assert.deepEqual(
    left.filter(({ id, delivery_id }) => id === delivery_id),
    [],
    'a cancelled backfill left runs',
  );
  const revisions = Map.groupBy(runs, ({ revision }) => revision);
  const ledgers = await db.rows<{ revision: number; delivered: StoredRectangle[] | null }>(sql`
    SELECT revision, delivered FROM batch_export_ledgers
    WHERE batch_export_id = ${world.export_id}`);
  const ended = await db.rows<Ended>(sql`
    SELECT revision, mode, selects_by, status, ${ms('watermark')} AS watermark_ms,
      ${ms('start_at')} AS from_ms, ${ms('end_at')} AS to_ms FROM batch_export_backfills
    WHERE batch_export_id = ${world.export_id} AND status = 'Completed'`);
  const { revision: current } = (await db.row<{ revision: number }>(sql`
    SELECT revision FROM batch_exports WHERE id = ${world.export_id}`))!;
  for (const [revision, own] of revisions) {
    const ledger = ledgers.find((one) => one.revision === revision);
    assertLedger(world, own, fromStored(ledger?.delivered ?? []));
    assertDisjoint(own);
    assertDeliveries(own);
    // A new version of the export plans the intervals of earlier ones again.
    if (revision === current) assertMadeUp(own);
    if (!world.is_swept)
      assertPlanned(
        world,
        own,
        ended.filter((one) => one.revision === revision),
      );
  }
}

const ms = (column: string) => raw(`(extract(epoch FROM ${column}) * 1000)::float8`);

function listRuns({ simulator, export_id }: World): Promise<Run[]> {
  return simulator.db.rows<Run>(sql`
    SELECT run.id, run.revision, run.status, run.delivery_id, run.selection, run.is_make_up,
      run.committing_at IS NOT NULL AS is_marked, run.backfill_id,
      run.cancel_requested_at IS NOT NULL AS is_cancelling,
      ${ms('run.data_interval_start')} AS from_ms, ${ms('run.data_interval_end')} AS to_ms,
      ${ms('run.created_at')} AS created_ms, ${ms('run.finished_at')} AS finished_ms,
      CASE WHEN backfill.id IS NOT NULL THEN
        json_build_object('mode', backfill.mode, 'selects_by', backfill.selects_by,
          'watermark_ms', ${ms('backfill.watermark')}, 'status', backfill.status) END AS backfill
    FROM batch_export_runs run LEFT JOIN batch_export_backfills backfill
      ON backfill.id = run.backfill_id
    WHERE run.batch_export_id = ${export_id} ORDER BY run.id`);
}

/**
 * Checks that a completed run shows the rows of its selection, and that visible rows are marked.
 */
function assertShown({ destination, source }: World, runs: Run[]): void {
  const held = new Map([...destination.places.values()].flatMap((place) => [...place]));
  const marked = new Set(
    runs.filter(({ is_marked }) => is_marked).map(({ delivery_id }) => delivery_id),
  );
  const isKnown = ({ shown, late, is_unanswered }: Held) =>
    shown === undefined && late === undefined && !is_unanswered;
  for (const [delivery_id, one] of held)
    assert.ok(isKnown(one) || marked.has(delivery_id), 'what may be shown is not marked');
  for (const run of runs.filter(isCompleted)) {
    const area = fromStored(run.selection);
    const rows = source.rows.filter((row) => contains(area, row.instant, row.inserted_at));
    assert.deepEqual(
      (held.get(run.delivery_id)?.shown ?? []).toSorted(),
      rows.map(({ uuid }) => uuid).toSorted(),
      'a completed run does not show its rows',
    );
  }
}

/** Checks that only the destination makes a run uncertain if no process was disturbed. */
function assertDoubts({ destination }: World, runs: Run[]): void {
  const held = new Map([...destination.places.values()].flatMap((place) => [...place]));
  for (const { is_marked, delivery_id } of runs.filter((run) => !isCompleted(run)))
    assert.ok(!is_marked || held.get(delivery_id)?.is_doubtful, 'a doubt has no reason');
}

/**
 * Checks that the ledger has the areas of completed runs, and after a sweep also those of empty
 * ones.
 */
function assertLedger({ is_swept }: World, runs: Run[], ledger: Rectangle[]): void {
  const completed = areasOf(runs.filter(isCompleted));
  assertWithin(completed, ledger, 'a completed run is not in the ledger');
  if (!is_swept) assertWithin(ledger, completed, 'the ledger has what no run has completed');
}

/** Checks that no two deliveries overlap, except those of backfills of everything. */
function assertDisjoint(runs: Run[]): void {
  const taken = runs.filter((run) => isTaken(run) && run.backfill?.mode !== 'all');
  const deliveries = [...Map.groupBy(taken, ({ delivery_id }) => delivery_id).values()];
  // The union of consecutive areas stays small, however many runs there are.
  let seen: Rectangle[] = [];
  for (const own of deliveries) {
    assert.ok(own.filter(isOpen).length <= 1, 'one delivery is in two runs');
    assert.deepEqual(intersect(areasOf(own), seen), [], 'two deliveries share rows');
    seen = union(seen, areasOf(own));
  }
}

/**
 * Only the latest run of a delivery may be uncertain. A delivery completes once. A backfill plans
 * each interval once.
 */
function assertDeliveries(runs: Run[]): void {
  for (const own of Map.groupBy(runs, ({ delivery_id }) => delivery_id).values()) {
    assert.ok(own.filter(isCompleted).length <= 1, 'one delivery was completed twice');
    const [latest, ...others] = own.toReversed();
    if (!isCompleted(latest!) && !latest!.is_marked)
      assert.ok(!others.some(({ is_marked }) => is_marked), 'a retry does not know of a doubt');
  }
  const planned = runs.filter(
    (run) => run.backfill !== null && run.id === run.delivery_id && !run.is_make_up,
  );
  for (const own of Map.groupBy(planned, ({ backfill_id }) => backfill_id).values()) {
    const sorted = own.toSorted((one, other) => one.from_ms - other.from_ms);
    for (const [index, { from_ms }] of sorted.entries())
      assert.ok(
        from_ms >= (sorted[index - 1]?.to_ms ?? from_ms),
        'a backfill planned an interval twice',
      );
  }
}

/** Checks that another run delivers the parts that others left to a failed run of a backfill. */
function assertMadeUp(runs: Run[]): void {
  const lost = runs.filter((run) => run.backfill !== null && !isTaken(run));
  for (const run of lost) {
    const later = runs.filter(
      (other) =>
        other.id !== run.id &&
        other.created_ms >= run.created_ms &&
        // Planned after its end, the other run left no part to it.
        other.created_ms <= (run.finished_ms ?? Infinity) &&
        other.backfill_id !== run.backfill_id &&
        !other.is_make_up &&
        other.status !== 'Cancelled',
    );
    // A part that the later run took itself, and lost, was not left to this one.
    const leftOut = later.flatMap((other) =>
      subtract([baseOf(other)], fromStored(other.selection)),
    );
    const left = intersect(fromStored(run.selection), leftOut);
    const others = runs.filter((other) => other !== run && (isTaken(other) || other.is_make_up));
    assertWithin(left, areasOf(others), 'nobody makes up for a run');
  }
  const made_up = areasOf(
    runs.filter(({ is_make_up, delivery_id, id }) => is_make_up && delivery_id !== id),
  );
  assertWithin(
    made_up,
    areasOf(runs.filter((run) => run.backfill !== null && !isOpen(run) && !isCompleted(run))),
    'a make-up run has too much',
  );
}

/** Checks that the runs contain each interval of the schedule, and of completed backfills. */
function assertPlanned({ has_gap }: World, runs: Run[], ended: Ended[]): void {
  const planned = areasOf(runs);
  const isScheduled = (run: Run) =>
    run.backfill_id === null && !run.is_make_up && run.delivery_id === run.id;
  const scheduled = runs.filter(isScheduled).toSorted((one, other) => one.from_ms - other.from_ms);
  if (!has_gap)
    for (const [index, { from_ms }] of scheduled.entries())
      assert.equal(from_ms, scheduled[index - 1]?.to_ms ?? from_ms, 'the schedule has a gap');
  for (const run of scheduled)
    assertWithin([baseOf(run)], planned, 'a part of an interval is in no run');
  for (const one of ended)
    assertWithin([baseOf({ ...one, backfill: one })], planned, 'a backfill left a part out');
}

/** The area of a run before others were subtracted. */
function baseOf({
  backfill,
  from_ms,
  to_ms,
}: Pick<Run, 'backfill' | 'from_ms' | 'to_ms'>): Rectangle {
  const everything = { event_from: -Infinity, event_to: Infinity };
  if (backfill === null) return { ...everything, inserted_from: from_ms, inserted_to: to_ms };
  const { selects_by, watermark_ms } = backfill;
  if (selects_by === 'timestamp')
    return {
      event_from: from_ms,
      event_to: to_ms,
      inserted_from: -Infinity,
      inserted_to: watermark_ms,
    };
  return { ...everything, inserted_from: from_ms, inserted_to: Math.min(to_ms, watermark_ms) };
}

function assertWithin(part: Rectangle[], whole: Rectangle[], message: string): void {
  for (const one of part) assert.deepEqual(subtract([one], whole), [], message);
}
