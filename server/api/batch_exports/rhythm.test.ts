import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { newExport, projectBase } from '../../../test/factories/batch_exports/batch_exports.ts';
import { shareHarness } from '../../../test/harness.ts';
import type { TestOrganization } from '../../../test/harness.ts';
import { changedRhythm, newRhythm } from './rhythm.ts';

const harness = shareHarness({
  opened: async () => {
    home = await harness.newOrganization();
    await home.ask('PATCH', `/api/projects/${home.project.id}/`, { timezone: 'Asia/Tokyo' });
  },
});
let home: TestOrganization;

type Answer = Record<string, unknown>;
const shown = ({ timezone, offset_day, offset_hour, offset_minute }: Answer) => [
  timezone,
  offset_day,
  offset_hour,
  offset_minute,
];
const sunday_six = {
  interval: 'week',
  timezone: 'Europe/Berlin',
  offset_day: 0,
  offset_hour: 6,
  offset_minute: 30,
};

/** The instant at which the next run of an export ends, as the clocks of a zone show it. */
function nextEnd({ next_run }: Answer, timeZone: string): string {
  const { data_interval_end } = next_run as { data_interval_end: string };
  const format = {
    weekday: 'short',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  } as const;
  return new Intl.DateTimeFormat('en-GB', { timeZone, ...format })
    .format(Date.parse(data_interval_end))
    .replace(',', '');
}

test('days and weeks turn at the time that was asked for', async () => {
  const cases: [Answer, unknown[], string][] = [
    [{ interval: 'hour' }, ['Asia/Tokyo', null, null, null], ''],
    [{ interval: 'day' }, ['Asia/Tokyo', null, 0, 0], '00:00'],
    [{ interval: 'week' }, ['Asia/Tokyo', 1, 0, 0], 'Mon 00:00'],
    [{ interval: 'day', offset_hour: 6 }, ['Asia/Tokyo', null, 6, 0], '06:00'],
    [sunday_six, ['Europe/Berlin', 0, 6, 30], 'Sun 06:30'],
    [
      { interval: 'week', timezone: null, offset_day: null, offset_hour: 23 },
      ['Asia/Tokyo', 1, 23, 0],
      'Mon 23:00',
    ],
  ];
  for (const [body, expected, end] of cases) {
    const created: Answer = await newExport(home, body);
    assert.deepEqual(shown(created), expected, JSON.stringify(body));
    assert.ok(nextEnd(created, String(created['timezone'])).endsWith(end), JSON.stringify(body));
    // The API accepts what it answered, in a new export too.
    const url = `${projectBase(home)}${created['id']}/`;
    const read = await home.ask('GET', url);
    const put = await home.ask('PUT', url, read.body);
    assert.deepEqual([put.status, put.headers['etag']], [200, read.headers['etag']], put.text);
    const { id: _id, ...again } = read.body;
    const copied = await home.ask('POST', projectBase(home), again);
    assert.deepEqual([copied.status, shown(copied.body)], [201, expected], copied.text);
  }
});

test('PATCH keeps what it does not send, PUT resets it', async () => {
  const created = await newExport(home, sunday_six);
  const url = `${projectBase(home)}${created.id}/`;
  const changes: ['PATCH' | 'PUT', Answer, unknown[]][] = [
    ['PATCH', { offset_minute: 0 }, ['Europe/Berlin', 0, 6, 0]],
    ['PATCH', { interval: 'day' }, ['Europe/Berlin', null, 6, 0]],
    ['PATCH', { interval: 'week' }, ['Europe/Berlin', 1, 6, 0]],
    ['PATCH', { offset_day: 3 }, ['Europe/Berlin', 3, 6, 0]],
    ['PATCH', { offset_hour: null }, ['Europe/Berlin', 3, 0, 0]],
    ['PATCH', { timezone: ' Africa/Cairo ' }, ['Africa/Cairo', 3, 0, 0]],
    ['PATCH', { timezone: null }, ['Asia/Tokyo', 3, 0, 0]],
    ['PATCH', sunday_six, ['Europe/Berlin', 0, 6, 30]],
    // The answer may be sent back together with another interval.
    ['PUT', { ...created, interval: 'hour' }, ['Europe/Berlin', null, null, null]],
    ['PUT', { ...created, ...sunday_six }, ['Europe/Berlin', 0, 6, 30]],
    [
      'PUT',
      { name: 'x', interval: 'week', destination: created.destination },
      ['Asia/Tokyo', 1, 0, 0],
    ],
  ];
  for (const [method, body, expected] of changes) {
    const { status, body: changed, text } = await home.ask(method, url, body);
    assert.deepEqual([status, shown(changed)], [200, expected], `${JSON.stringify(body)} ${text}`);
  }
  const rows = await harness.deps.db.rows(
    sql`SELECT revision, offset_minutes, has_own_timezone FROM batch_exports
      WHERE id = ${created.id}`,
  );
  assert.deepEqual(rows, [{ revision: 1, offset_minutes: 0, has_own_timezone: false }]);
});

test('a time that means nothing with the interval is refused at its field', async () => {
  const hourly = await newExport(home, { interval: 'hour' });
  const daily = await newExport(home, { interval: 'day' });
  const cases: [string, string, unknown, string][] = [
    [hourly.id, 'offset_hour', 6, 'invalid_input'],
    [hourly.id, 'offset_minute', 0, 'invalid_input'],
    [hourly.id, 'offset_day', 0, 'invalid_input'],
    [daily.id, 'offset_day', 1, 'invalid_input'],
    [daily.id, 'offset_hour', 24, 'max_value'],
    [daily.id, 'offset_hour', -1, 'min_value'],
    [daily.id, 'offset_minute', 60, 'max_value'],
    [daily.id, 'offset_hour', '6', 'invalid_input'],
    [daily.id, 'timezone', 'Mars/Olympus', 'invalid_choice'],
    [daily.id, 'timezone', '+02:00', 'invalid_choice'],
    [daily.id, 'timezone', '', 'blank'],
  ];
  for (const [id, attr, value, code] of cases) {
    const sent = id === hourly.id ? hourly : daily;
    const body = { name: 'New', interval: sent.interval, destination: sent.destination };
    for (const answer of [
      await home.ask('PATCH', `${projectBase(home)}${id}/`, { [attr]: value }),
      await home.ask('POST', projectBase(home), { ...body, [attr]: value }),
    ])
      assert.deepEqual(
        [answer.status, answer.body.attr, answer.body.code],
        [400, attr, code],
        `${JSON.stringify(value)} ${answer.text}`,
      );
  }
  // Null is nothing that could be wrong.
  const nothing = { offset_day: null, offset_hour: null, offset_minute: null };
  const { status } = await home.ask('PATCH', `${projectBase(home)}${hourly.id}/`, nothing);
  assert.equal(status, 200);
});

test('a change goes on from what is planned, in the same revision', async () => {
  const created = await newExport(home, { interval: 'day', timezone: 'Europe/Berlin' });
  const url = `${projectBase(home)}${created.id}/`;
  const before = (await home.ask('GET', url)).body.next_run;
  const changed = await home.ask('PATCH', url, { offset_hour: 12, timezone: 'Asia/Kathmandu' });
  const after = changed.body.next_run;
  assert.equal(after.data_interval_start, before.data_interval_start);
  assert.equal(nextEnd(changed.body, 'Asia/Kathmandu').slice(-5), '12:00');
  const length = Date.parse(after.data_interval_end) - Date.parse(after.data_interval_start);
  assert.ok(length > 0 && length <= 24 * 3_600_000);
  const effect = await home.ask('POST', `${url}effect/`, { offset_hour: 3 });
  assert.deepEqual([effect.status, effect.body.starts_anew], [200, false], effect.text);
  const log = `/api/organizations/${home.organization.id}/activity/?item_id=${created.id}`;
  const [entry] = (await home.ask('GET', `${log}&activity=updated`)).body.results;
  assert.deepEqual(entry.changes.map(({ field }: { field: string }) => field).toSorted(), [
    'offset_hour',
    'timezone',
  ]);
});

test('a backfill has the runs of the schedule, with the rows of each', async () => {
  const own = await harness.newOrganization();
  // Daily at 02:30 in Berlin, where 02:30 on 29 March is skipped: it is 03:30 there, 01:30 in UTC.
  const daily = { interval: 'day', timezone: 'Europe/Berlin', offset_hour: 2, offset_minute: 30 };
  const { id } = await newExport(own, { ...daily, paused: true });
  const happened = ['28T01:29:59', '28T01:30:00', '29T01:29:59', '29T01:30:00', '30T00:29:59'];
  const events = happened.map((at) => ({
    event: 'seen',
    distinct_id: 'u',
    timestamp: `2026-03-${at}Z`,
  }));
  const taken = await own.ask('POST', `/api/projects/${own.project.id}/events/`, { events });
  assert.equal(taken.status, 200, taken.text);
  const range = { start_at: '2026-03-26T00:00:00Z', end_at: '2026-04-01T00:00:00Z', dry_run: true };
  const url = `${projectBase(own)}${id}/backfill/`;
  const { body, text } = await own.ask('POST', url, range);
  assert.deepEqual(
    body.backfill.plan.runs.map((run: Record<string, unknown>) => [
      String(run['data_interval_start']).slice(8, 16),
      String(run['data_interval_end']).slice(8, 16),
      run['records_total_count'],
    ]),
    [
      ['27T01:30', '28T01:30', 1],
      ['28T01:30', '29T01:30', 2],
      ['29T01:30', '30T00:30', 2],
    ],
    text,
  );
  assert.equal(body.backfill.runs, 7);
});

test('a zone that nobody chose is that of the project when the interval is set', () => {
  const row = { ...newRhythm({ interval: 'day' }, 'UTC'), project_timezone: 'Asia/Tokyo' };
  const zones = (sent: Parameters<typeof changedRhythm>[0], how: 'patch' | 'put', of = row) =>
    changedRhythm(sent, of, how).timezone;
  assert.equal(zones({}, 'patch'), 'UTC');
  assert.equal(zones({ interval: 'day' }, 'put'), 'UTC');
  assert.equal(zones({ interval: 'week' }, 'patch'), 'Asia/Tokyo');
  assert.equal(zones({ timezone: null }, 'patch'), 'UTC');
  const own = { ...row, ...newRhythm({ interval: 'day', timezone: 'Africa/Cairo' }, 'UTC') };
  assert.equal(zones({ interval: 'week' }, 'patch', own), 'Africa/Cairo');
  assert.equal(zones({ interval: 'day' }, 'put', own), 'Asia/Tokyo');
  assert.equal(zones({ timezone: null }, 'patch', own), 'Asia/Tokyo');
});
