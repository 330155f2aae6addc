import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { refusalOf } from '../../../../test/refusal.ts';
import { aroundTests } from '../../../../test/around_tests.ts';
import {
  insertRunRow,
  newExport,
  projectBase,
} from '../../../../test/factories/batch_exports/batch_exports.ts';
import { openHarness } from '../../../../test/harness.ts';
import { subtract, toStored } from '../../../engine/model/ledger/rectangles.ts';
import type { Rectangle } from '../../../engine/model/ledger/rectangles.ts';
import { areAlike } from './gaps.ts';
import type { SlotRange } from './schema.ts';
import { inOneLook } from './store.ts';

const hour_ms = 3_600_000;
const day_start = Date.parse('2026-01-01T00:00:00Z');
const harness = aroundTests(() =>
  openHarness({ clickhouse: false, config: { settle_seconds: 15 } }),
);

const at = (hours: number) => new Date(day_start + hours * hour_ms).toISOString();
const slotArea = (hour: number, to = hour + 1): Rectangle => ({
  event_from: -Infinity,
  event_to: Infinity,
  inserted_from: day_start + hour * hour_ms,
  inserted_to: day_start + to * hour_ms,
});

/** An export that was created at the hour of 1 January, whose schedule is planned until another. */
async function exportFrom(created: number, planned: number) {
  const home = await harness.newOrganization();
  const { id } = await newExport(home);
  await harness.deps.db.run(sql`UPDATE batch_exports SET created_at = ${at(created)},
    planned_until = ${at(planned)}, schedule_changed_at = ${at(created)} WHERE id = ${id}`);
  const url = `${projectBase(home)}${id}/`;
  return {
    home,
    id: id as string,
    url,
    run: (hour: number, wanted: object) => insertRunRow(harness, id, { hour, ...wanted }),
    deliver: (areas: Rectangle[]) =>
      harness.deps.db
        .run(sql`INSERT INTO batch_export_ledgers (batch_export_id, revision, delivered)
        VALUES (${id}, 1, ${JSON.stringify(toStored(areas))})`),
    slots: async (from: number, to: number, by = 'inserted_at') => {
      const range = `after=${at(from)}&before=${at(to)}&by=${by}`;
      const answer = await home.ask('GET', `${url}slots/?${range}`);
      assert.equal(answer.status, 200, answer.text);
      return answer.body;
    },
  };
}

/** The ranges as `from-to state reason rows`, hours of 1 January. */
const told = (ranges: SlotRange[]) =>
  ranges.map(({ start_at, end_at, slots, state, reason, needed_retries, records_completed }) => {
    const [from, to] = [start_at, end_at].map((text) => (Date.parse(text) - day_start) / hour_ms);
    assert.equal(slots, to! - from!);
    return `${from}-${to} ${state}${needed_retries ? ' after retries' : ''}${
      reason === null ? '' : ` ${reason}`
    }${records_completed === 0 ? '' : ` ${records_completed}`}`;
  });

test('every state, with the runs at the ends and their rows', async () => {
  const { id, home, run, deliver, slots } = await exportFrom(2, 20);
  const first = await run(2, { status: 'Completed', total: 3 });
  const last = await run(3, { status: 'Completed', total: 4 });
  await run(4, { status: 'Failed', total: 9 });
  await run(5, { status: 'Failed', committing: true });
  await run(6, { status: 'Running' });
  await run(7, { status: 'Cancelled' });
  await run(8, { status: 'Completed' });
  // Failed, and then delivered by a backfill; the latest run of a slot tells.
  await run(9, { status: 'Failed' });
  await run(10, { status: 'Failed' });
  await run(10, { status: 'Starting', delivery_id: crypto.randomUUID() });
  await deliver([slotArea(2, 4), slotArea(9, 10), slotArea(11, 13)]);
  await harness.deps.db.run(sql`UPDATE batch_exports SET start_at = ${at(1)}, end_at = ${at(21)}
    WHERE id = ${id}`);
  const { ranges, next, interval } = await slots(0, 23);
  assert.deepEqual(told(ranges), [
    '0-1 outside before_start',
    '1-2 outside made_later',
    '2-4 delivered 7',
    '4-5 failed 9',
    '5-6 in_doubt',
    '6-7 under_way',
    '7-8 missing cancelled',
    '8-9 missing left_by_another_run',
    '9-10 delivered after retries',
    '10-11 under_way after retries',
    '11-13 delivered',
    '13-20 missing schedule_changed',
    '20-21 missing not_planned',
    '21-23 outside after_end',
  ]);
  assert.deepEqual([ranges[2].first_run, ranges[2].last_run], [first, last]);
  assert.deepEqual([next, interval], [null, 'hour']);
  assert.ok(ranges.every(({ detail }: SlotRange) => detail.endsWith('.')));
  const organization = `/api/organizations/${home.organization.id}/batch_exports/${id}/slots/`;
  assert.equal((await home.ask('GET', organization)).status, 200);
});

test('slots that were delivered after a failed attempt are ranges of their own', async () => {
  const { run, deliver, slots } = await exportFrom(0, 6);
  for (let hour = 0; hour < 5; hour += 1)
    await run(hour, { status: 'Completed', total: 2, failures: hour === 2 ? 3 : 0 });
  // One was retried as another run, one was written anew without a person who was erased.
  await run(1, { status: 'Completed', total: 1, delivery_id: crypto.randomUUID(), replaces: true });
  await run(4, { status: 'Completed', total: 2, delivery_id: crypto.randomUUID() });
  await deliver([slotArea(0, 5)]);
  assert.deepEqual(told((await slots(0, 5)).ranges), [
    '0-2 delivered 3',
    '2-3 delivered after retries 2',
    '3-4 delivered 2',
    '4-5 delivered after retries 2',
  ]);
});

test('by event time the slots are those of backfills, however rows came in', async () => {
  const { id, run, deliver, slots } = await exportFrom(20, 20);
  const backfill = async (from: number, to: number, status: string) => {
    const backfill_id = crypto.randomUUID();
    const finished_at = status === 'Running' ? null : at(21);
    await harness.deps.db.run(sql`
      INSERT INTO batch_export_backfills (id, batch_export_id, revision, mode, selects_by,
        start_at, end_at, watermark, settles_at, next_start_at, total_runs, status, finished_at)
      VALUES (${backfill_id}, ${id}, 1, 'missing', 'timestamp', ${at(from)}, ${at(to)}, ${at(21)},
        ${at(21)}, ${at(from)}, ${to - from}, ${status}, ${finished_at})`);
    return backfill_id;
  };
  const eventArea = (from: number, to: number, until = 21): Rectangle => ({
    event_from: day_start + from * hour_ms,
    event_to: day_start + to * hour_ms,
    inserted_from: -Infinity,
    inserted_to: day_start + until * hour_ms,
  });
  const day = await backfill(2, 10, 'Completed');
  let latest = '';
  for (let hour = 2; hour < 10; hour += 1)
    latest = await run(hour, {
      status: hour === 5 ? 'Failed' : 'Completed',
      backfill_id: day,
      total: 3,
      failures: hour === 8 ? 1 : 0,
      selection: toStored([eventArea(hour, hour + 1)]),
    });
  // Its files were written again.
  await run(9, { status: 'Completed', total: 3, delivery_id: latest, replaces: true });
  // The last part only of what came in late, which says nothing of what came in before.
  await deliver([eventArea(2, 5), eventArea(6, 10), eventArea(14, 15), slotArea(20, 22)]);
  await backfill(10, 12, 'Cancelled');
  await backfill(12, 14, 'Running');
  assert.deepEqual(told((await slots(0, 16, 'timestamp')).ranges), [
    '0-2 outside no_backfill',
    '2-5 delivered 9',
    '5-6 failed',
    '6-8 delivered 6',
    '8-9 delivered after retries 3',
    '9-10 delivered 3',
    '10-12 missing cancelled',
    '12-14 waiting',
    '14-15 delivered',
    '15-16 outside no_backfill',
  ]);
  // The schedule's own clock calls nothing missing that is from before the export.
  assert.deepEqual(told((await slots(0, 16)).ranges), ['0-16 outside made_later']);
});

test('a pause tells which slots it left out, also after its end', async () => {
  const { id, home, url, slots } = await exportFrom(0, 4);
  const send = (path: string) => home.ask('POST', `${url}${path}`, {});
  await send('pause/');
  await harness.deps.db.run(sql`UPDATE activity SET created_at = ${at(4.5)} WHERE item_id = ${id}
    AND activity = 'paused'`);
  assert.deepEqual(told((await slots(4, 6)).ranges), ['4-6 missing paused']);
  await send('unpause/');
  await harness.deps.db.run(sql`UPDATE activity SET created_at = ${at(7.5)} WHERE item_id = ${id}
    AND activity = 'unpaused'`);
  await harness.deps.db.run(
    sql`UPDATE batch_exports SET planned_until = ${at(9)} WHERE id = ${id}`,
  );
  assert.deepEqual(told((await slots(3, 9)).ranges), [
    '3-4 missing schedule_changed',
    '4-7 missing paused',
    '7-9 missing schedule_changed',
  ]);
});

test('an earlier revision is a reason; the future waits', async () => {
  const { id, run, slots, url, home } = await exportFrom(0, 4);
  await run(1, { status: 'Completed', total: 5 });
  await harness.deps.db.run(sql`UPDATE batch_exports SET revision = 2 WHERE id = ${id}`);
  assert.deepEqual(told((await slots(0, 3)).ranges), [
    '0-1 missing schedule_changed',
    '1-2 missing earlier_revision',
    '2-3 missing schedule_changed',
  ]);
  const soon = new Date(Date.now() + 5 * hour_ms).toISOString();
  const ahead = await home.ask('GET', `${url}slots/?before=${soon}`);
  assert.equal(ahead.body.ranges.at(-1).state, 'waiting');
  assert.match(ahead.body.ranges.at(-1).detail, /15 seconds after the end .* delivered ahead/);
});

test('right after a change of the schedule its slots wait for the workers', async () => {
  const { id, slots } = await exportFrom(0, 4);
  const state = async () => told((await slots(4, 6)).ranges);
  assert.deepEqual(await state(), ['4-6 missing not_planned']);
  const changed = (ago: number) =>
    harness.deps.db.run(sql`UPDATE batch_exports
      SET schedule_changed_at = now() - make_interval(secs => ${ago}) WHERE id = ${id}`);
  await changed(20);
  assert.deepEqual(await state(), ['4-6 waiting']);
  await changed(70);
  assert.deepEqual(await state(), ['4-6 missing not_planned']);
});

test('parts of event time make a slot delivered only together', async () => {
  const { deliver, slots } = await exportFrom(0, 4);
  const part = { ...slotArea(0, 3), event_to: day_start };
  await deliver([part, ...subtract([slotArea(1, 2)], [part])]);
  assert.deepEqual(told((await slots(0, 3)).ranges), [
    '0-1 missing schedule_changed',
    '1-2 delivered',
    '2-3 missing schedule_changed',
  ]);
});

test('one look is of one instant, and begins no workers', async () => {
  const look = await inOneLook(harness.deps.db, (tx) =>
    tx.row(sql`SELECT current_setting('transaction_isolation') AS isolation,
      current_setting('transaction_read_only') AS read_only,
      current_setting('max_parallel_workers_per_gather') AS workers`),
  );
  assert.deepEqual(look, { isolation: 'repeatable read', read_only: 'on', workers: '0' });
});

test('days follow the zone; ranges that are too long or turned round are 400', async () => {
  const home = await harness.newOrganization();
  await harness.deps.db.run(sql`UPDATE projects SET timezone = 'Europe/Berlin'
    WHERE id = ${home.project.id}`);
  const { id } = await newExport(home, { interval: 'day' });
  const get = (query: string) => home.ask('GET', `${projectBase(home)}${id}/slots/?${query}`);
  const { body } = await get('after=2026-03-28T12:00:00Z&before=2026-03-30T12:00:00Z');
  assert.deepEqual(
    [body.after, body.before, body.slots, body.timezone],
    ['2026-03-27T23:00:00.000000Z', '2026-03-30T22:00:00.000000Z', 3, 'Europe/Berlin'],
  );
  for (const [query, code] of [
    ['after=2026-01-02T00:00:00Z&before=2026-01-02T00:00:00Z', 'invalid_input'],
    ['after=2001-01-02T00:00:00Z&before=2026-01-02T00:00:00Z', 'max_items'],
  ]) {
    const answer = await get(query!);
    assert.deepEqual(refusalOf(answer), [400, 'after', code]);
  }
});

test('the ranges tile the time, never two alike side by side, whatever the history', async () => {
  const { run, deliver, slots } = await exportFrom(0, 48);
  const areas: Rectangle[] = [];
  let state = 7;
  const random = (below: number) => (state = (state * 16_807) % 2_147_483_647) % below;
  for (let hour = 0; hour < 48; hour += 1) {
    const status = ['Completed', 'Failed', 'Running', 'Cancelled', undefined][random(5)];
    if (status !== undefined) await run(hour, { status });
    if (random(2) === 0) areas.push(slotArea(hour));
  }
  await deliver(areas);
  const { ranges } = await slots(0, 48);
  const delivered = new Set(areas.map((area) => area.inserted_from));
  let reached = day_start;
  for (const [index, range] of (ranges as SlotRange[]).entries()) {
    assert.equal(Date.parse(range.start_at), reached);
    reached = Date.parse(range.end_at);
    const before_it = ranges[index - 1];
    if (before_it !== undefined) assert.ok(!areAlike(before_it, range));
    for (let slot = Date.parse(range.start_at); slot < reached; slot += hour_ms)
      assert.equal(range.state === 'delivered', delivered.has(slot));
  }
  assert.equal(reached, day_start + 48 * hour_ms);
});
