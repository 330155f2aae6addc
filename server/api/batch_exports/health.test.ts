import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { aroundTests } from '../../../test/around_tests.ts';
import {
  attrsOf,
  insertRunRow,
  newExport,
  noop_export,
  projectBase,
} from '../../../test/factories/batch_exports/batch_exports.ts';
import {
  completed,
  endedRun,
  failed,
  toldOf,
} from '../../../test/factories/batch_exports/ended_runs.ts';
import { openHarness } from '../../../test/harness.ts';
import { NonRetryableError } from '../../engine/model/destination/errors.ts';
import { judgeFreshness } from '../../engine/exports/health/freshness.ts';
import { listComparableRows } from '../../engine/exports/health/store.ts';

const hour_ms = 3_600_000;
let now = Date.parse('2026-01-01T00:00:00Z');
const harness = aroundTests(() =>
  openHarness({
    clickhouse: false,
    config: { pause_after_failures: 3 },
    deps: { clock: { now: () => now } },
  }),
);

async function withExport(body: Record<string, unknown> = {}) {
  const home = await harness.newOrganization();
  const created = await newExport(home, body);
  const url = `${projectBase(home)}${created.id}/`;
  return {
    home,
    id: created.id as string,
    get: async (path = '') => (await home.ask('GET', `${url}${path}`)).body,
    send: (method: string, path: string, sent: unknown = {}) =>
      home.ask(method, `${url}${path}`, sent),
  };
}

test('failures in a row pause an export, and a success resets their count', async () => {
  const { home, id, get, send } = await withExport();
  for (const end of [failed, failed, completed, failed, failed]) await endedRun(harness, id, end);
  // An interval without rows is no success of the destination: it was not asked for anything.
  await endedRun(harness, id, completed, { rows: 0 });
  assert.equal((await get()).paused, false);
  await endedRun(harness, id, {
    status: 'Cancelled',
    code: 'cancelled',
    message: 'The run was cancelled.',
  });
  await endedRun(harness, id, { ...failed, status: 'FailedRetryable' });
  const paused = await get();
  assert.deepEqual([paused.paused, paused.pause_reason.code], [true, 'repeated_failures']);
  assert.equal(Date.parse(paused.pause_reason.at), Date.parse(paused.last_paused_at));
  assert.match(
    paused.pause_reason.detail,
    /3 runs in a row failed.*permission_denied: The bucket may not be written to\..*unpause/,
  );
  assert.deepEqual(await toldOf(harness, id), [
    'failing',
    'recovered from failing',
    'failing',
    'paused_automatically',
  ]);
  const [line] = (await get('logs/?search=paused')).results;
  assert.deepEqual(
    [line.level, line.message],
    ['WARNING', `The export was paused. ${paused.pause_reason.detail}`],
  );
  const activity = await home.ask(
    'GET',
    `/api/organizations/${home.organization.id}/activity/?item_id=${id}`,
  );
  const [entry] = activity.body.results;
  assert.deepEqual([entry.activity, entry.user, entry.item_name], ['paused', null, 'Nightly']);
  assert.deepEqual(
    entry.changes
      .map((change: { field: string; after: unknown }) => [change.field, change.after])
      .filter(([field]: [string]) => ['paused', 'pause_reason.code'].includes(field)),
    [
      ['paused', true],
      ['pause_reason.code', 'repeated_failures'],
    ],
  );
  // Paused already: a further failure, and a person's pause, change nothing.
  await endedRun(harness, id, failed);
  assert.deepEqual((await send('POST', 'pause/')).body.pause_reason, paused.pause_reason);
  const active = (await send('POST', 'unpause/', { backfill: true })).body;
  assert.deepEqual([active.paused, active.pause_reason], [false, null]);
  for (const end of [failed, failed]) await endedRun(harness, id, end);
  assert.equal((await get()).paused, false);
  await endedRun(harness, id, failed);
  assert.equal((await get()).paused, true);
  assert.deepEqual((await toldOf(harness, id)).slice(4), ['paused_automatically']);
  assert.equal((await send('PATCH', '', { paused: false })).body.pause_reason, null);
  assert.equal((await send('POST', 'pause/')).body.pause_reason, null);
});

test('backfills, earlier revisions and deleted exports do not count or notify', async () => {
  const { id, get, send } = await withExport();
  const { backfill } = (
    await send('POST', 'backfill/', {
      start_at: '2026-01-01T00:00:00Z',
      end_at: '2026-01-02T00:00:00Z',
    })
  ).body;
  for (let run = 0; run < 4; run += 1)
    await endedRun(harness, id, failed, { backfill_id: backfill.id });
  for (let run = 0; run < 4; run += 1)
    await endedRun(harness, id, failed, { revision: 0, delivery_id: crypto.randomUUID() });
  assert.equal((await get()).paused, false);
  assert.deepEqual(await toldOf(harness, id), []);
  assert.equal((await send('DELETE', '')).status, 204);
  for (let run = 0; run < 4; run += 1) await endedRun(harness, id, failed);
  assert.deepEqual(await toldOf(harness, id), []);
});

test('two workers that end failed runs at once tell once, and pause once', async () => {
  const { id, get } = await withExport();
  await Promise.all(Array.from({ length: 6 }, () => endedRun(harness, id, failed)));
  assert.deepEqual(await toldOf(harness, id), ['failing', 'paused_automatically']);
  assert.equal((await get()).pause_reason.code, 'repeated_failures');
});

test('an unusual volume is notified once, and once more when it is usual again', async () => {
  const { id, get } = await withExport();
  // 1 January 2026 is a Thursday: hour 12 of each of the first workdays, and of the weekends, which
  // are others.
  const workdays = [0, 1, 4, 5, 6, 7, 8, 11];
  for (const day of workdays)
    await endedRun(harness, id, completed, { hour: day * 24 + 12, rows: 1000 + day });
  for (const day of [2, 3, 9, 10])
    await endedRun(harness, id, completed, { hour: day * 24 + 12, rows: 40 });
  for (const day of workdays)
    await endedRun(harness, id, completed, { hour: day * 24 + 3, rows: 7 });
  assert.deepEqual(await toldOf(harness, id), []);
  const unusual = await endedRun(harness, id, completed, { hour: 12 * 24 + 12, rows: 40 });
  await endedRun(harness, id, completed, { hour: 13 * 24 + 12, rows: 41 });
  await endedRun(harness, id, completed, { hour: 14 * 24 + 12, rows: 990, selection: [] });
  assert.deepEqual(await toldOf(harness, id), ['unusual_volume']);
  await endedRun(harness, id, completed, { hour: 15 * 24 + 12, rows: 990 });
  assert.deepEqual(await toldOf(harness, id), ['unusual_volume', 'recovered from unusual_volume']);
  const row = await harness.deps.db.row<{ body: string }>(
    sql`SELECT body FROM notices WHERE batch_export_id = ${id} ORDER BY id LIMIT 1`,
  );
  const { data } = JSON.parse(row!.body);
  assert.deepEqual(
    [data.run.id, data.run.records_completed, data.usual.runs, data.batch_export.id],
    [unusual, 40, 8, id],
  );
  assert.ok(data.usual.low > 40 && data.usual.high < 2000);
  assert.match(
    (await get('logs/?search=rows, where')).results[0].message,
    /40 rows, where \d+ to \d+ are usual/,
  );
});

const judge = () =>
  judgeFreshness({ ...harness.deps, settle_seconds: harness.deps.config.settle_seconds });
/** Puts the moment from which an export waits for its first delivery. */
const waitsSince = (id: string, at: string) =>
  harness.deps.db.run(sql`UPDATE batch_exports SET schedule_changed_at = ${at} WHERE id = ${id}`);

test('a late export is notified once, and once more when it is up to date', async () => {
  const { id, send } = await withExport();
  await waitsSince(id, '2026-01-01T00:00:00Z');
  // Two hours, and ten minutes for the run.
  now = Date.parse('2026-01-01T02:10:00Z');
  await judge();
  assert.deepEqual(await toldOf(harness, id), []);
  now += 1;
  await Promise.all([judge(), judge(), judge()]);
  await judge();
  assert.deepEqual(await toldOf(harness, id), ['late']);
  await endedRun(harness, id, completed, { hour: 0 });
  await judge();
  assert.deepEqual(await toldOf(harness, id), ['late', 'recovered from late']);
  now += hour_ms;
  await judge();
  assert.deepEqual((await toldOf(harness, id)).length, 3);
  // A pause ends it without a word, and its end begins anew.
  await send('POST', 'pause/');
  await judge();
  await send('POST', 'unpause/');
  await waitsSince(id, new Date(now).toISOString());
  await judge();
  assert.equal((await toldOf(harness, id)).length, 3);
  now += 3 * hour_ms;
  await judge();
  assert.deepEqual((await toldOf(harness, id)).slice(3), ['late']);
});

test('making up for a cancelled backfill does not hide that the schedule is late', async () => {
  const { id } = await withExport();
  await waitsSince(id, new Date(now - 3 * hour_ms).toISOString());
  const hour = Math.floor((now - Date.parse('2026-01-01T00:00:00Z')) / hour_ms) - 1;
  await endedRun(harness, id, completed, {
    hour,
    delivery_id: crypto.randomUUID(),
    is_make_up: true,
  });
  await judge();
  assert.deepEqual(await toldOf(harness, id), ['late']);
});

test('volumes of days are compared by dates in the zone, also across a clock change', async () => {
  const { id } = await withExport({ interval: 'day' });
  const day_ms = 24 * hour_ms;
  // Midnights of Berlin before the change of 25 October 2026, when it had two hours more than
  // UTC: 30 days with 1000 rows on workdays and 100 on weekends.
  for (let day = 0; day < 30; day += 1) {
    const midnight = Date.parse('2026-09-24T22:00:00Z') + day * day_ms;
    const isWeekend = [0, 6].includes(new Date(midnight + 2 * hour_ms).getUTCDay());
    await insertRunRow(harness, id, {
      status: 'Completed',
      hour: (midnight - Date.parse('2026-01-01T00:00:00Z')) / hour_ms,
      total: isWeekend ? 100 : 1000,
    });
  }
  // A Saturday and a Monday after the change.
  for (const [start, rows] of [
    ['2026-10-30T23:00:00Z', 100],
    ['2026-11-01T23:00:00Z', 1000],
  ] as const) {
    const [comparable] = await listComparableRows(harness.deps.db, [
      {
        batch_export_id: id,
        revision: 1,
        data_interval_start: start,
        interval: 'day',
        timezone: 'Europe/Berlin',
      },
    ]);
    assert.deepEqual([...new Set(comparable)], [rows]);
  }
});

test('a fault whose text does not fit JSON still ends the run and pauses', async () => {
  const { id, get } = await withExport();
  const { code, message } = new NonRetryableError(
    'permission_denied',
    'The server said: half a smile \ud83d and a NUL \0.',
  );
  for (let run = 0; run < 3; run += 1)
    await endedRun(harness, id, { status: 'Failed', code, message });
  assert.match((await get()).pause_reason.detail, /half a smile \ufffd and a NUL \ufffd\./);
});

test('an export has a limit of its own, which is longer than its interval', async () => {
  const { id, send, get } = await withExport({ freshness_seconds: 4000 });
  assert.equal((await get()).freshness_seconds, 4000);
  await waitsSince(id, new Date(now - 4_000_001).toISOString());
  await judge();
  assert.deepEqual(await toldOf(harness, id), ['late']);
  assert.equal((await send('PATCH', '', { freshness_seconds: null })).body.freshness_seconds, null);
  await judge();
  assert.deepEqual(await toldOf(harness, id), ['late', 'recovered from late']);
  for (const [sent, attrs] of [
    [{ freshness_seconds: 3600 }, ['freshness_seconds min_value']],
    [{ freshness_seconds: 59 }, ['freshness_seconds min_value']],
    [{ freshness_seconds: 90.5 }, ['freshness_seconds invalid_input']],
    [{ freshness_seconds: 3601, interval: 'day' }, ['freshness_seconds min_value']],
  ] as const) {
    assert.deepEqual(attrsOf(await send('PATCH', '', sent)), attrs, JSON.stringify(sent));
  }
  await send('PATCH', '', { freshness_seconds: 3601 });
  assert.deepEqual(attrsOf(await send('PATCH', '', { interval: 'day' })), [
    'freshness_seconds min_value',
  ]);
  const put = { ...noop_export, interval: 'every 5 minutes', freshness_seconds: 301 };
  assert.equal((await send('PUT', '', put)).body.freshness_seconds, 301);
});
