import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { aroundTests } from '../../../../test/around_tests.ts';
import {
  insertRunRow,
  newExport,
  projectBase,
} from '../../../../test/factories/batch_exports/batch_exports.ts';
import {
  completed,
  endedRun,
  failed,
} from '../../../../test/factories/batch_exports/ended_runs.ts';
import { is_deep } from '../../../../test/depth.ts';
import { manageByCode } from '../../../../test/factories/configurations.ts';
import { openHarness } from '../../../../test/harness.ts';
import type { TestOrganization } from '../../../../test/harness.ts';
import type { ExportOverview } from './schema.ts';
import { listOverview } from './store.ts';

const harness = aroundTests(() =>
  openHarness({ clickhouse: false, config: { settle_seconds: 15 } }),
);

const get = async (home: TestOrganization, query = '') => {
  const answer = await home.ask('GET', `/api/projects/${home.project.id}/overview/${query}`);
  assert.equal(answer.status, 200, answer.text);
  return answer.body;
};

test('health in a word and a sentence, with freshness, next run and rows', async () => {
  const home = await harness.newOrganization();
  const ids: Record<string, string> = {};
  for (const name of ['good', 'bad', 'paused', 'fresh', 'late', 'ended'])
    ids[name] = (await newExport(home, { name })).id;
  for (const rows of [3, 4, 5]) await endedRun(harness, ids['good']!, completed, { rows });
  await endedRun(harness, ids['bad']!, failed);
  await home.ask('POST', `${projectBase(home)}${ids['paused']}/pause/`, {});
  await endedRun(harness, ids['late']!, completed, { hour: 0 });
  await harness.deps.db.run(sql`UPDATE batch_exports SET schedule_changed_at = '2026-01-01'
    WHERE id = ${ids['late']!}`);
  await harness.deps.db.run(sql`UPDATE batch_exports SET next_run_at = NULL
    WHERE id = ${ids['ended']!}`);
  await manageByCode(harness, home, ids['good']!);
  const { results, counts, count } = await get(home, '?ordering=health');
  assert.equal(count, 6);
  assert.deepEqual(
    results.map(({ name, health }: ExportOverview) => [name, health.code]),
    [
      ['bad', 'failing'],
      ['late', 'late'],
      ['fresh', 'waiting'],
      ['paused', 'paused'],
      ['good', 'up_to_date'],
      ['ended', 'ended'],
    ],
  );
  assert.deepEqual(counts, {
    failing: 1,
    paused_automatically: 0,
    retrying: 0,
    late: 1,
    partly_delivered: 0,
    unusual_volume: 0,
    running: 0,
    waiting: 1,
    paused: 1,
    up_to_date: 1,
    ended: 1,
  });
  const named = (name: string): ExportOverview =>
    results.find((one: ExportOverview) => one.name === name);
  assert.deepEqual(named('good').records, [3, 4, 5]);
  assert.equal(named('good').managed_by?.source, 'warehouse');
  assert.equal(named('bad').managed_by, null);
  assert.match(named('good').health.detail, /^Up to date: the newest .* ended at 20/);
  const { next_run } = named('good');
  assert.equal(Date.parse(next_run!.due_at) - Date.parse(next_run!.data_interval_end), 15_000);
  assert.match(
    named('bad').health.detail,
    /^Failing since 20\S+Z: 1 interval, 0 rows waiting\. The/,
  );
  assert.equal(named('bad').latest_run!.status, 'Failed');
  assert.equal(named('paused').next_run, null);
  const narrowed = await get(home, '?health=failing,late&search=LA&slots=0');
  assert.deepEqual(
    narrowed.results.map(({ name, records }: ExportOverview) => [name, records]),
    [['late', []]],
  );
  assert.equal((await get(home, '?limit=2&offset=4&ordering=name')).results.length, 2);
  const of_one = await get(home, `?batch_export=${ids['bad']}`);
  assert.deepEqual([of_one.count, of_one.results], [1, [named('bad')]]);
  const wrong = await home.ask(
    'GET',
    `/api/organizations/${home.organization.id}/overview/?health=well`,
  );
  assert.deepEqual([wrong.status, wrong.body.attr], [400, 'health']);
});

test('the overview counts rows that backfills delivered before the first run', async () => {
  const home = await harness.newOrganization();
  const told = async () => {
    const { results } = await get(home);
    const [{ health, records_by_backfills }] = results as [ExportOverview];
    return [
      health.code,
      records_by_backfills,
      health.detail.split(/: the first run is planned for [^ ]+Z/).join(''),
    ];
  };
  const { id } = await newExport(home);
  assert.deepEqual(await told(), ['waiting', 0, 'Waiting for the schedule.']);
  const backfill_id = randomUUID();
  await harness.deps.db.run(sql`
    INSERT INTO batch_export_backfills (id, batch_export_id, revision, mode, start_at, end_at,
      watermark, next_start_at, total_runs)
    VALUES (${backfill_id}, ${id}, 1, 'all', '2026-01-01', '2026-01-02', now(), '2026-01-02', 2)`);
  await endedRun(harness, id, completed, { rows: 3, backfill_id });
  await harness.deps.db.run(sql`UPDATE batch_export_health SET delivered_until = NULL
    WHERE batch_export_id = ${id}`);
  const by_backfills =
    'Waiting for the schedule. Runs on request have delivered 3 rows ahead of it.';
  assert.deepEqual(await told(), ['waiting', 3, by_backfills]);
  await endedRun(harness, id, completed);
  assert.deepEqual((await told()).slice(0, 2), ['up_to_date', null]);
});

test('the overview names a run that is retried, whatever was delivered later', async () => {
  const home = await harness.newOrganization();
  const { id } = await newExport(home);
  const told = async () => (await get(home)).results[0] as ExportOverview;
  const tried = await insertRunRow(harness, id, { hour: 1, status: 'Running' });
  await insertRunRow(harness, id, { hour: 2, status: 'Running' });
  assert.equal((await told()).retrying, null);
  await harness.deps.db.run(sql`UPDATE batch_export_runs SET latest_error = 'It answered 500.',
    started_at = '2026-01-01T02:00:15Z', failures = 7, due_at = '2026-01-01T03:00:00Z'
    WHERE batch_export_id = ${id}`);
  assert.deepEqual((await told()).retrying, {
    run_id: tried,
    data_interval_start: '2026-01-01T01:00:00.000000Z',
    data_interval_end: '2026-01-01T02:00:00.000000Z',
    since: '2026-01-01T02:00:15.000000Z',
    latest_error: 'It answered 500.',
  });
  await endedRun(harness, id, completed, { hour: 3, rows: 0 });
  const { health, delivered_until } = await told();
  assert.deepEqual(
    [health.code, delivered_until, health.detail],
    [
      'retrying',
      '2026-01-01T04:00:00.000000Z',
      'Retrying since 2026-01-01T02:00:15.000000Z: attempt 7 of 15 failed: It answered 500. ' +
        'Next try at 2026-01-01T03:00:00.000000Z. 2 intervals waiting.',
    ],
  );
});

test('10,000 exports are one short answer a page', async () => {
  const home = await harness.newOrganization();
  const { id } = await newExport(home);
  await harness.deps.db.run(sql`
    INSERT INTO batch_exports (id, team_id, name, model, destination_type, "interval", timezone,
      planned_until, next_run_at)
    SELECT gen_random_uuid(), e.team_id, 'export ' || n, e.model, e.destination_type, e."interval",
      e.timezone, e.planned_until, e.next_run_at
    FROM batch_exports e CROSS JOIN generate_series(2, 10000) n WHERE e.id = ${id}`);
  const before_it = harness.deps.db.statementCount();
  const { count, results, counts } = await get(home, '?limit=100&ordering=health');
  assert.deepEqual([count, results.length, counts.waiting], [10_000, 100, 10_000]);
  assert.ok(harness.deps.db.statementCount() - before_it <= 6);
  await harness.deps.db.text(
    'ANALYZE batch_exports; ANALYZE batch_export_health; ANALYZE projects',
  );
  const none = { health: undefined, search: undefined, model: undefined };
  const some = { destination_type: undefined, tag: undefined, batch_export: undefined };
  const all = { ...none, ...some, slots: 30 };
  for (const ordering of ['-created_at', 'created_at', 'name', '-name'] as const)
    for (const team_id of [home.project.id, undefined]) {
      const place = { organization_id: home.organization.id, team_id };
      const wanted = { ...all, ordering };
      const page = listOverview(harness.deps.engine, place, wanted, { limit: 10, offset: 0 });
      const { rows } = await harness.deps.db.text(`EXPLAIN ${page.text}`, page.values);
      const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
      assert.doesNotMatch(plan, /Seq Scan on batch_exports/, plan);
      assert.match(plan, ordering.includes('name') ? /batch_exports_by_name/ : /_by_project/);
    }
});

test('an organization shows exports of all its projects in each order, page by page', async () => {
  const home = await harness.newOrganization();
  const project = await home.ask('POST', '/api/projects/', { name: 'Second' });
  const other = { ...home, project: project.body };
  for (const [index, name] of ['b', 'D', 'a', 'c'].entries())
    await newExport(index % 2 === 0 ? home : other, { name, paused: index === 3 });
  const names = async (query: string) => {
    const url = `/api/organizations/${home.organization.id}/overview/${query}`;
    const { body } = await home.ask('GET', url);
    return [body.count, body.results.map(({ name }: ExportOverview) => name).join('')];
  };
  for (const [ordering, expected] of [
    ['created_at', 'bDac'],
    ['-created_at', 'caDb'],
    ['name', 'abcD'],
    ['-name', 'Dcba'],
    ['health', 'abDc'],
  ] as const) {
    assert.deepEqual(await names(`?ordering=${ordering}`), [4, expected]);
    for (const offset of [0, 1, 2, 3, 4])
      assert.deepEqual(
        await names(`?ordering=${ordering}&limit=2&offset=${offset}`),
        [4, expected.slice(offset, offset + 2)],
        `${ordering} ${offset}`,
      );
  }
  assert.deepEqual(await names('?health=waiting,late&limit=1&ordering=name'), [3, 'a']);
  assert.deepEqual(await names('?search=d&limit=1'), [1, 'D']);
  const url = `/api/organizations/${home.organization.id}/batch_exports/?limit=2&offset=1`;
  const { body } = await home.ask('GET', url);
  assert.deepEqual(
    [body.count, body.results.map(({ name }: ExportOverview) => name)],
    [4, ['a', 'D']],
  );
});

test('the worst are read page by page, also while health changes below', async () => {
  const home = await harness.newOrganization();
  const of = ['waiting', 'failing', 'late', 'failing', 'waiting', 'late', 'up_to_date', 'failing'];
  for (const [index, code] of of.entries()) {
    const { id } = await newExport(home, { name: `${index}` });
    await harness.deps.db.run(sql`
      INSERT INTO batch_export_health (batch_export_id, revision, is_failing, is_late,
        is_volume_unusual, delivered_until, consecutive_failures)
      VALUES (${id}, 1, ${code === 'failing'}, false, false,
        CASE ${code}::text WHEN 'waiting' THEN NULL WHEN 'late' THEN '2026-01-01' ELSE now() END, 0)
      ON CONFLICT (batch_export_id) DO UPDATE SET is_failing = EXCLUDED.is_failing,
        delivered_until = EXCLUDED.delivered_until`);
    if (code === 'late')
      await harness.deps.db.run(sql`UPDATE batch_exports SET schedule_changed_at = '2026-01-01'
        WHERE id = ${id}`);
  }
  const names = async (query: string) => {
    const { count, results } = await get(home, `?ordering=health${query}`);
    return `${count}: ${results.map(({ name }: ExportOverview) => name).join('')}`;
  };
  for (const [narrowed, order] of [
    ['', '13725046'],
    ['&health=waiting,failing', '13704'],
  ] as const)
    for (let offset = 0; offset <= 9; offset += 1)
      for (const limit of is_deep ? [1, 3, 20] : [[1, 3, 20][offset % 3]!])
        assert.equal(
          await names(`${narrowed}&limit=${limit}&offset=${offset}`),
          `${order.length}: ${order.slice(offset, offset + limit)}`,
        );
  const { db } = harness.deps;
  const { rows } = db;
  db.rows = async <Row>(statement: Parameters<typeof rows>[0]) => {
    const found = await rows<Row>(statement);
    if (!statement.text.includes('AS code, count(*)')) return found;
    db.rows = rows;
    await db.run(sql`UPDATE batch_export_health SET is_failing = false
      WHERE batch_export_id IN (SELECT id FROM batch_exports WHERE team_id = ${home.project.id})`);
    return found;
  };
  // Counted as failing, and then they are not.
  assert.equal(await names('&limit=2'), '8: 25');
});
