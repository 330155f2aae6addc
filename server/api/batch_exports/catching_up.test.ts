import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import type { Harness } from '../../../test/harness.ts';
import { aroundTests } from '../../../test/around_tests.ts';
import {
  all_events,
  eventsIn,
  insertAt,
  openDeliveringHarness,
  scheduleFrom,
  until,
  withEvents,
} from '../../../test/factories/batch_exports/delivering_harness.ts';

const hour_ms = 3_600_000;
let harness: Harness;
const delivering = aroundTests(openDeliveringHarness, async (opened) => {
  harness = opened.harness;
});

test('unpausing with backfill makes up for every interval that was missed', async () => {
  await delivering.startOnce();
  const { created, get, send } = await withEvents(harness, 'unpaused', { paused: true });
  await scheduleFrom(harness, created.id);
  assert.equal((await send('POST', 'unpause/', { backfill: true })).body.paused, false);
  await until(
    () => get('runs/?status=Completed'),
    (body) => body.results.length === 3,
  );
  assert.deepEqual(await eventsIn(delivering.folder, 'unpaused'), all_events);
});

test('the backfill named in the log delivers the rows that a pause left out', async () => {
  await delivering.startOnce();
  const { home, created, get, send } = await withEvents(harness, 'left_out', { paused: true });
  const hour = Math.floor(harness.deps.clock.now() / hour_ms) * hour_ms;
  await harness.deps.db.run(
    sql`UPDATE batch_exports SET planned_until = ${new Date(hour - 3 * hour_ms).toISOString()}
      WHERE id = ${created.id}`,
  );
  const lateness = [0, 0, 0, 40 * hour_ms, 9_000 * hour_ms, -hour_ms * 30, 5 * hour_ms];
  const taken = (number: number) => hour - 3 * hour_ms + number * 25 * 60_000;
  await insertAt(
    harness,
    home,
    lateness.map((late, number) => ({
      event: `paused ${number}`,
      happened: taken(number) - late,
      taken: taken(number),
    })),
  );
  assert.equal((await send('POST', 'unpause/')).status, 200);
  const [{ message }] = (await get('logs/?search=Unpaused')).body.results;
  const { backfill } = (await send('POST', 'backfill/', JSON.parse(/\{.*\}/.exec(message)![0])))
    .body;
  assert.deepEqual([backfill.by, backfill.runs], ['inserted_at', 3]);
  await until(
    () => get(`backfills/${backfill.id}/`),
    (body) => body.status === 'Completed',
  );
  assert.deepEqual(
    await eventsIn(delivering.folder, 'left_out'),
    lateness.map((_, number) => `paused ${number}`),
  );
});
