// Length: each unit, kind and time of a chart, on one table of runs.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { refusalOf } from '../../../../test/refusal.ts';
import { aroundTests } from '../../../../test/around_tests.ts';
import {
  newExport,
  organizationBase,
  projectBase,
} from '../../../../test/factories/batch_exports/batch_exports.ts';
import { openHarness } from '../../../../test/harness.ts';
import type { TestOrganization } from '../../../../test/harness.ts';
import type { Queryable, Statement } from '../../../platform/postgres/database.ts';
import { listMetricPoints } from './store.ts';

const now = Date.parse('2026-03-10T12:00:00.000000Z');
const harness = aroundTests(() =>
  openHarness({ clickhouse: false, deps: { clock: { now: () => now } } }),
);

/** A run that was planned a minute after the end of its interval and began a minute later. */
type RunWanted = {
  end: string;
  status?: string;
  rows?: number;
  seconds?: number | null;
  backfill?: string;
  selection?: object[];
  replaces?: { run_id: string };
};

async function insertRun(
  { id: exportId, team_id }: { id: string; team_id: number },
  { end, status = 'Completed', rows = 0, seconds = 60, backfill, ...wanted }: RunWanted,
): Promise<string> {
  const { selection = [], replaces = null } = wanted;
  const at = (offset_seconds: number) =>
    new Date(Date.parse(end) + offset_seconds * 1000).toISOString();
  const row = await harness.deps.db.row<{ id: string }>(sql`
    INSERT INTO batch_export_runs (id, team_id, batch_export_id, revision, backfill_id, delivery_id,
      status, data_interval_start, data_interval_end, selection, records_completed, bytes_completed,
      created_at, started_at, finished_at, replaces)
    SELECT id, ${team_id}, ${exportId}, 1, ${backfill ?? null}::uuid,
      coalesce(${replaces?.run_id ?? null}::uuid, id), ${status}, ${at(-3600)},
      ${end}, ${JSON.stringify(selection)}, ${rows}, ${rows * 10}, ${at(60)}, ${at(120)},
      ${seconds === null ? null : at(120 + seconds)},
      ${replaces && JSON.stringify(replaces)}::jsonb
    FROM gen_random_uuid() id RETURNING id`);
  return row!.id;
}

async function insertBackfill(exportId: string): Promise<string> {
  const row = await harness.deps.db.row<{ id: string }>(sql`
    INSERT INTO batch_export_backfills (id, batch_export_id, revision, mode, start_at, end_at,
      watermark, next_start_at, total_runs)
    VALUES (gen_random_uuid(), ${exportId}, 1, 'all', '2026-01-01', '2026-01-02', now(),
      '2026-01-02', 1) RETURNING id`);
  return row!.id;
}

const metrics = (home: TestOrganization, id: string, query = '') =>
  home.ask('GET', `${projectBase(home)}${id}/metrics/${query}`);

test('a run that writes a delivery once more brings no rows and has no delay', async () => {
  const home = await harness.newOrganization();
  const created = await newExport(home);
  const end = '2026-03-10T10:00:00.000000Z';
  const run_id = await insertRun(created, { end, rows: 100 });
  const replaces = { erasure_id: crypto.randomUUID(), run_id };
  await insertRun(created, { end, rows: 99, seconds: 900, replaces });
  const { body } = await metrics(home, created.id, '?interval=hour');
  assert.deepEqual(
    body.results.map((point: any) => [point.rows, point.bytes, point.lag_seconds_max]),
    [[100, 1000, 180]],
  );
  const path = `/api/projects/${home.project.id}/overview/`;
  const { body: overview } = await home.ask('GET', path);
  assert.equal(overview.results[0].records_day, 100);
});

test('a point for each run, and the same runs by hour and day, backfills apart', async () => {
  const home = await harness.newOrganization();
  const created = await newExport(home);
  const { id } = created;
  const backfill = await insertBackfill(id);
  const first = await insertRun(created, {
    end: '2026-03-09T22:00:00.000000Z',
    rows: 100,
    seconds: 30,
  });
  const second = await insertRun(created, {
    end: '2026-03-09T22:10:00.000000Z',
    rows: 50,
    seconds: 90,
  });
  await insertRun(created, { end: '2026-03-09T22:20:00.000000Z', rows: 7, backfill });
  await insertRun(created, {
    end: '2026-03-09T22:30:00.000000Z',
    rows: 9,
    status: 'FailedRetryable',
    seconds: 900,
  });
  await insertRun(created, {
    end: '2026-03-09T23:00:00.000000Z',
    rows: 9,
    status: 'Running',
    seconds: null,
  });
  await insertRun(created, { end: '2026-03-10T01:00:00.000000Z', status: 'Cancelled', seconds: 0 });
  await insertRun(created, { end: '2026-01-01T00:00:00.000000Z', rows: 1 });

  const byRun = await metrics(home, id);
  assert.deepEqual(
    [byRun.body.after, byRun.body.before, byRun.body.interval],
    ['2026-02-08T12:00:00.000000Z', '2026-03-10T12:00:00.000000Z', 'run'],
  );
  assert.deepEqual(
    byRun.body.results.map((point: { rows: number }) => point.rows),
    [100, 50, 7, 0, 0, 0],
  );
  assert.deepEqual(byRun.body.results[0], {
    start_at: '2026-03-09T22:01:00.000000Z',
    kind: 'scheduled',
    run: first,
    data_interval_end: '2026-03-09T22:00:00.000000Z',
    runs: { completed: 1, failed: 0, cancelled: 0, open: 0 },
    rows: 100,
    bytes: 1000,
    duration_seconds: 30,
    duration_seconds_max: 30,
    lag_seconds: 150,
    lag_seconds_max: 150,
  });
  assert.equal(byRun.body.results[1].run, second);
  assert.deepEqual(
    [
      byRun.body.results[2].kind,
      byRun.body.results[2].lag_seconds,
      byRun.body.results[2].duration_seconds,
    ],
    ['backfill', null, 60],
  );
  const open = byRun.body.results[4];
  assert.deepEqual([open.runs.open, open.duration_seconds, open.lag_seconds], [1, null, null]);

  const hour = {
    start_at: '2026-03-09T22:00:00.000000Z',
    kind: 'scheduled',
    run: null,
    data_interval_end: '2026-03-09T22:30:00.000000Z',
    runs: { completed: 2, failed: 1, cancelled: 0, open: 0 },
    rows: 150,
    bytes: 1500,
    duration_seconds: 340,
    duration_seconds_max: 900,
    lag_seconds: 180,
    lag_seconds_max: 210,
  };
  const byHour = (await metrics(home, id, '?interval=hour')).body.results;
  assert.deepEqual(byHour[0], hour);
  assert.deepEqual(
    byHour.map((point: { start_at: string; kind: string }) => `${point.start_at} ${point.kind}`),
    [
      '2026-03-09T22:00:00.000000Z scheduled',
      '2026-03-09T22:00:00.000000Z backfill',
      '2026-03-09T23:00:00.000000Z scheduled',
      '2026-03-10T01:00:00.000000Z scheduled',
    ],
  );
  const byDay = (await metrics(home, id, '?interval=day')).body.results;
  assert.deepEqual(byDay[0], {
    ...hour,
    start_at: '2026-03-09T00:00:00.000000Z',
    data_interval_end: '2026-03-09T23:00:00.000000Z',
    runs: { ...hour.runs, open: 1 },
  });
  const narrow = await home.ask(
    'GET',
    `${organizationBase(home)}${id}/metrics/` +
      '?after=2026-03-09T22:11:00Z&before=2026-03-09T22:21:00.000000Z',
  );
  assert.deepEqual(
    narrow.body.results.map((point: { rows: number }) => point.rows),
    [50],
  );
});

test('by the time of its data a backfill lies where its rows belong', async () => {
  const home = await harness.newOrganization();
  const created = await newExport(home);
  const backfill = await insertBackfill(created.id);
  for (const hour of ['04', '05', '06'])
    await insertRun(created, { end: `2026-03-01T${hour}:00:00.000000Z`, rows: 10, backfill });
  await harness.deps.db.run(sql`UPDATE batch_export_runs SET created_at = '2026-03-10T11:00:00Z'
    WHERE batch_export_id = ${created.id}`);
  const points = async (query: string) => {
    const { results, by } = (await metrics(home, created.id, query)).body;
    type Point = { start_at: string; rows: number };
    return [by, ...results.map(({ start_at, rows }: Point) => [start_at.slice(0, 13), rows])];
  };
  const range = '&after=2026-03-01T03:00:00Z&before=2026-03-01T05:00:00Z';
  assert.deepEqual(await points(`?by=data_interval_start${range}`), [
    'data_interval_start',
    ['2026-03-01T03', 10],
    ['2026-03-01T04', 10],
  ]);
  assert.deepEqual(await points('?by=data_interval_start&interval=day'), [
    'data_interval_start',
    ['2026-03-01T00', 30],
  ]);
  assert.deepEqual(await points('?interval=hour'), ['created_at', ['2026-03-10T11', 30]]);
});

test('a run that makes up for a backfill, and its retry, have their own kind, no lag', async () => {
  const home = await harness.newOrganization();
  const created = await newExport(home);
  const scheduled = await insertRun(created, { end: '2026-03-09T22:00:00.000000Z' });
  const make_up = await insertRun(created, {
    end: '2026-03-09T23:00:00.000000Z',
    status: 'FailedRetryable',
    selection: [{ event_from: 0, event_to: 1, inserted_from: 0, inserted_to: 1 }],
  });
  const backfill = await insertRun(created, {
    end: '2026-03-09T23:10:00.000000Z',
    backfill: await insertBackfill(created.id),
  });
  await harness.deps.db.run(
    sql`UPDATE batch_export_runs SET is_make_up = true, delivery_id = gen_random_uuid()
      WHERE id = ${make_up}`,
  );
  const kindOf = async (id: string) =>
    (await home.ask('GET', `${projectBase(home)}${created.id}/runs/${id}/`)).body.kind;
  const kinds = [];
  for (const id of [scheduled, make_up, backfill]) kinds.push(await kindOf(id));
  assert.deepEqual(kinds, ['scheduled', 'make_up', 'backfill']);
  const points = async (query: string) => {
    const { results } = (await metrics(home, created.id, query)).body;
    return results.map(({ kind, lag_seconds }: { kind: string; lag_seconds: number | null }) => [
      kind,
      lag_seconds,
    ]);
  };
  assert.deepEqual(await points('?interval=day'), [
    ['scheduled', 180],
    ['make_up', null],
    ['backfill', null],
  ]);
  assert.deepEqual(await points(''), [
    ['scheduled', 180],
    ['make_up', null],
    ['backfill', null],
  ]);
  const retried = await home.ask(
    'POST',
    `${projectBase(home)}${created.id}/runs/${make_up}/retry/`,
    {},
  );
  assert.equal(retried.status, 200, retried.text);
  assert.deepEqual([retried.body.kind, retried.body.id === make_up], ['make_up', false]);
});

type PlanNode = { 'Relation Name'?: string; 'Actual Rows': number; 'Actual Loops': number };

/** Returns how many rows of runs PostgreSQL reads for a chart with more than ten points. */
async function rowsRead(
  id: string,
  interval: 'run' | 'hour',
  by: 'created_at' | 'data_interval_start',
): Promise<number> {
  const { db } = harness.deps;
  let read = 0;
  const explained: Queryable = {
    ...db,
    rows: async <Row>({ text, values }: Statement) => {
      const { rows } = await db.text(`EXPLAIN (ANALYZE, FORMAT JSON) ${text}`, values);
      JSON.parse(JSON.stringify(rows[0]!['QUERY PLAN']), (_, node: PlanNode | null) => {
        if (node?.['Relation Name'] === 'batch_export_runs')
          read += node['Actual Rows'] * node['Actual Loops'];
        return node;
      });
      return [] as Row[];
    },
  };
  const [after, before] = ['2026-03-01T00:00:00Z', '2026-03-10T00:00:00Z'];
  await listMetricPoints(explained, id, { after, before, interval, by, limit: 11 });
  assert.ok(read > 10);
  return read;
}

test('more than 1000 points and wrong parameters are 400, with what to do', async () => {
  const home = await harness.newOrganization();
  const { id } = await newExport(home);
  await harness.deps.db.run(sql`
    INSERT INTO batch_export_runs (id, team_id, batch_export_id, revision, delivery_id, status,
      data_interval_start, data_interval_end, selection, created_at)
    SELECT id, ${home.project.id}, ${id}, 1, id, 'Completed', at - interval '1 minute', at, '[]', at
    FROM (SELECT gen_random_uuid() AS id, '2026-03-08T00:00:00.000000Z'::timestamptz +
      make_interval(mins => minute) AS at FROM generate_series(1, 1001) minute) planned`);
  const refused = await metrics(home, id);
  assert.deepEqual(refusalOf(refused), [400, 'after', 'max_items']);
  assert.match(refused.body.detail, /1000 points.*interval=hour/);
  for (const by of ['created_at', 'data_interval_start'] as const)
    for (const interval of ['run', 'hour'] as const)
      assert.ok((await rowsRead(id, interval, by)) < 30, 'what is refused is not read');
  assert.equal(
    (await metrics(home, id, '?before=2026-03-08T16:41:00.000000Z')).body.results.length,
    1000,
  );
  assert.equal((await metrics(home, id, '?interval=hour')).body.results.length, 17);
  for (const [query, attr] of [
    ['?interval=week', 'interval'],
    ['?after=yesterday', 'after'],
    ['?before=2026-03-08', 'before'],
    ['?after=2026-04-01T00:00:00.000000Z', 'after'],
  ] as const) {
    const answer = await metrics(home, id, query);
    assert.deepEqual([answer.status, answer.body.attr], [400, attr], query);
  }
});
