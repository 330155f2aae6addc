import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { aroundTests } from '../../../../test/around_tests.ts';
import {
  eventsIn,
  insertAt,
  openDeliveringHarness,
  until,
  withEvents,
} from '../../../../test/factories/batch_exports/delivering_harness.ts';
import type { Harness } from '../../../../test/harness.ts';
import { rangesOf } from './earlier.ts';

const minute_ms = 60_000;
let harness: Harness;
const delivering = aroundTests(openDeliveringHarness, async (opened) => {
  harness = opened.harness;
});

/** An export whose next run is due in half an hour, with events since the last planned interval. */
async function inBetween(prefix: string, names: string[]) {
  await delivering.startOnce();
  const world = await withEvents(harness, prefix);
  const now = harness.deps.clock.now();
  await moveSchedule(world.created.id, now - 30 * minute_ms, now + 30 * minute_ms);
  const insert = (events: string[], taken: number) =>
    insertAt(
      harness,
      world.home,
      events.map((event) => ({ event, happened: taken - 90 * minute_ms, taken })),
    );
  await insert(names, now - 10 * minute_ms);
  return { ...world, now, insert };
}

const moveSchedule = (id: string, planned_until: number, next_run_at: number) =>
  harness.deps.db.run(sql`
    UPDATE batch_exports SET planned_until = ${new Date(planned_until).toISOString()},
      next_run_at = ${new Date(next_run_at).toISOString()} WHERE id = ${id}`);

test('run now delivers what came in since, and nothing doubles it', async () => {
  const { created, get, send, now, insert } = await inBetween('now', ['first', 'second']);
  const started = await Promise.all([send('POST', 'run_now/'), send('POST', 'run/')]);
  for (const { status, text, body } of started) {
    assert.equal(status, 200, text);
    assert.deepEqual([body.backfill.mode, body.backfill.by], ['missing', 'inserted_at']);
    assert.equal(body.backfill.is_run_now, true);
    assert.equal(Date.parse(body.backfill.start_at), now - 30 * minute_ms);
    await until(
      () => get(`backfills/${body.backfill.id}/`),
      ({ status: of }) => of === 'Completed',
    );
  }
  assert.deepEqual(await eventsIn(delivering.folder, 'now'), ['first', 'second']);
  // The rest of the interval comes with its run.
  const later = harness.deps.clock.now();
  await insert(['third'], later);
  await moveSchedule(created.id, now - 30 * minute_ms, later + 1_000);
  await until(
    () => get('runs/?status=Completed'),
    ({ results }) => results.some(({ kind }: { kind: string }) => kind === 'scheduled'),
  );
  const { results } = (await get('runs/')).body;
  for (const { kind, is_run_now } of results) assert.equal(is_run_now, kind === 'backfill');
});

test('run now is refused before the schedule starts and after it has ended', async () => {
  const { created, send, now } = await inBetween('outside', []);
  await moveSchedule(created.id, now + 30 * minute_ms, now + 90 * minute_ms);
  const early = await send('POST', 'run_now/');
  assert.deepEqual([early.status, early.body.code], [409, 'conflict']);
  assert.match(
    early.body.detail,
    /^The schedule starts at .+Z: there is nothing to deliver yet\.$/,
  );
  await harness.deps.db.run(
    sql`UPDATE batch_exports SET next_run_at = NULL WHERE id = ${created.id}`,
  );
  assert.match((await send('POST', 'run_now/')).body.detail, /^The schedule has ended/);
});

test('what the old place has is offered as ranges, until the new one has it', async () => {
  const { get, send } = await inBetween('old', ['first']);
  const deliver = async (body: object) => {
    const { backfill } = (await send('POST', 'backfill/', body)).body;
    await until(
      () => get(`backfills/${backfill.id}/`),
      ({ status }) => status === 'Completed',
    );
  };
  const range = { start_at: '2026-01-01T00:00:00.000000Z', end_at: '2026-01-01T02:00:00.000000Z' };
  await deliver(range);
  assert.deepEqual((await get('earlier_deliveries/')).body, { ranges: [] });
  const changed = await send('PATCH', '', { destination: { config: { prefix: 'new' } } });
  assert.equal(changed.status, 200, changed.text);
  const { ranges } = (await get('earlier_deliveries/')).body;
  assert.deepEqual(ranges, [{ by: 'timestamp', ...range }]);
  await deliver(ranges[0]!);
  assert.deepEqual((await get('earlier_deliveries/')).body, { ranges: [] });
  const moved = (await eventsIn(delivering.folder, 'new')).filter((name) =>
    name.startsWith('event'),
  );
  assert.equal(moved.length, 20);
});

test('ranges are by the time that the deliveries were of', () => {
  const all = { event_from: -Infinity, event_to: Infinity };
  assert.deepEqual(
    rangesOf([
      { ...all, inserted_from: 2_000, inserted_to: 3_000 },
      { ...all, inserted_from: 1_000, inserted_to: 1_500 },
      { event_from: 0, event_to: 500, inserted_from: -Infinity, inserted_to: 900 },
    ]),
    [
      {
        by: 'timestamp',
        start_at: '1970-01-01T00:00:00.000000Z',
        end_at: '1970-01-01T00:00:00.500000Z',
      },
      {
        by: 'inserted_at',
        start_at: '1970-01-01T00:00:01.000000Z',
        end_at: '1970-01-01T00:00:03.000000Z',
      },
    ],
  );
  assert.deepEqual(rangesOf([]), []);
});
