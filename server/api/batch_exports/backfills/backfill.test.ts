import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  attrsOf,
  newExport,
  organizationBase,
  projectBase,
} from '../../../../test/factories/batch_exports/batch_exports.ts';
import { shareHarness } from '../../../../test/harness.ts';
import { advanceBackfills } from '../../../engine/exports/runs/advance_backfills.ts';
import { openQueryHarness } from '../../../../test/factories/batch_exports/query_exports.ts';

const harness = shareHarness({ clickhouse: false });

const range = { start_at: '2026-01-01T00:30:00+00:00', end_at: '2026-01-01T05:00:00+02:00' };

test('a backfill answers the export with itself beside it, is listed and cancelled', async () => {
  const home = await harness.newOrganization({ level: 1 });
  const created = await newExport(home, { paused: true });
  const url = `${projectBase(home)}${created.id}/`;
  const started = await home.ask('POST', `${url}backfill/`, {
    ...range,
    name: 'ignored',
    interval: 7,
  });
  assert.equal(started.status, 200, started.text);
  const {
    backfill: { plan, ...backfill },
    ...record
  } = started.body;
  assert.ok(plan === null, 'without a store nobody knows what there is');
  assert.deepEqual(record, created);
  const { id, created_at, last_updated_at, settles_at, detail, ...rest } = backfill;
  assert.match(detail, /^It starts once .+ It has 3 runs\. Runs without rows complete at once\.$/);
  assert.ok(Math.abs(Date.parse(settles_at) - Date.parse(created_at)) < 14_000);
  assert.deepEqual(rest, {
    batch_export: created.id,
    status: 'Starting',
    mode: 'missing',
    by: 'timestamp',
    is_run_now: false,
    start_at: '2026-01-01T00:30:00.000000Z',
    end_at: '2026-01-01T03:00:00.000000Z',
    runs: 3,
    finished_at: null,
    progress: {
      total_runs: 3,
      finished_runs: 0,
      completed_runs: 0,
      records_completed: 0,
      records_total_count: 0,
      records_elsewhere: 0,
    },
  });
  assert.ok(created_at !== null && last_updated_at !== null);
  const { plan: _plan, ...second } = (
    await home.ask('POST', `${organizationBase(home)}${created.id}/backfill/`, {
      ...range,
      mode: 'all',
    })
  ).body.backfill;
  for (const base of [projectBase(home), organizationBase(home)]) {
    const list = await home.ask('GET', `${base}${created.id}/backfills/`);
    assert.deepEqual(list.body, {
      count: 2,
      next: null,
      previous: null,
      results: [second, backfill],
    });
    assert.deepEqual(
      (await home.ask('GET', `${base}${created.id}/backfills/${id}/`)).body,
      backfill,
    );
  }
  const list = { key: home.key, body: [] };
  assert.equal((await harness.request('POST', `${url}backfills/${id}/cancel/`, list)).status, 400);
  const cancelled = await home.ask('POST', `${url}backfills/${id}/cancel/`);
  assert.deepEqual([cancelled.status, cancelled.body.status], [200, 'Cancelled']);
  assert.equal((await home.ask('POST', `${url}backfills/${id}/cancel/`)).status, 409);
  const other = await newExport(home);
  assert.equal(
    (await home.ask('GET', `${projectBase(home)}${other.id}/backfills/${id}/`)).status,
    404,
  );
  assert.equal(
    (await home.ask('POST', `${projectBase(home)}${other.id}/backfills/${id}/cancel/`)).status,
    404,
  );
});

test('wrong ranges of a backfill are 400', async () => {
  const home = await harness.newOrganization();
  const created = await newExport(home);
  const soon = (minutes: number) =>
    new Date(Date.parse(created.created_at) + minutes * 60_000).toISOString();
  const cases: [unknown, string[]][] = [
    [{}, ['end_at required', 'start_at required']],
    [undefined, ['end_at required', 'start_at required']],
    [[], ['null invalid_input']],
    [{ start_at: null, end_at: null }, ['end_at null', 'start_at null']],
    [{ ...range, start_at: '2026-01-01T00:00:00' }, ['start_at invalid_input']],
    [{ ...range, end_at: 1_700_000_000 }, ['end_at invalid_input']],
    [{ ...range, end_at: range.start_at }, ['end_at invalid_input']],
    [{ start_at: range.end_at, end_at: range.start_at }, ['end_at invalid_input']],
    [
      { start_at: '2026-01-01T00:00:00.000100Z', end_at: '2026-01-01T00:00:00.000200Z' },
      ['end_at invalid_input', 'start_at invalid_input'],
    ],
    [{ ...range, start_at: '2026-01-01T00:00:00.000500Z' }, ['start_at invalid_input']],
    [{ ...range, end_at: soon(90) }, ['end_at invalid_input']],
    [{ ...range, end_at: '9999-12-31T23:59:59-14:00' }, ['end_at invalid_input']],
    [{ ...range, start_at: '0001-01-03T00:00:00.000000Z' }, ['start_at invalid_input']],
    [{ ...range, mode: 'some' }, ['mode invalid_choice']],
    [{ ...range, by: 'created_at' }, ['by invalid_choice']],
    [{ ...range, dry_run: 'yes' }, ['dry_run invalid_input']],
  ];
  for (const base of [projectBase(home), organizationBase(home)]) {
    for (const [body, expected] of cases) {
      const answer = await home.ask('POST', `${base}${created.id}/backfill/`, body);
      assert.equal(answer.status, 400, `${JSON.stringify(body)}: ${answer.text}`);
      assert.deepEqual(attrsOf(answer), expected, JSON.stringify(body));
    }
  }
  assert.equal(
    (await home.ask('GET', `${projectBase(home)}${created.id}/backfills/`)).body.count,
    0,
  );
  assert.equal(
    (
      await home.ask('POST', `${projectBase(home)}${created.id}/backfill/`, {
        ...range,
        end_at: soon(59),
      })
    ).status,
    200,
  );
  const dry = await home.ask(
    'POST',
    `${projectBase(home)}${created.id}/backfill/?validate_only=true`,
    range,
  );
  assert.equal(dry.status, 200);
  assert.equal(
    (await home.ask('GET', `${projectBase(home)}${created.id}/backfills/`)).body.count,
    1,
  );
});

test('a backfill of persons uses their one time, even by default', async () => {
  const home = await harness.newOrganization();
  const created = await newExport(home, { model: 'persons' });
  const start = (body: object) =>
    home.ask('POST', `${projectBase(home)}${created.id}/backfill/`, { ...range, ...body });
  assert.deepEqual(
    [(await start({})).body.backfill.by, (await start({ by: 'inserted_at' })).body.backfill.by],
    ['inserted_at', 'inserted_at'],
  );
  const refused = await start({ by: 'timestamp' });
  assert.deepEqual([refused.status, attrsOf(refused)], [400, ['by invalid_choice']]);
});

test('an export that ended can be created for its backfills, and says no run follows', async () => {
  const home = await harness.newOrganization();
  const created = await newExport(home, {
    end_at: '2026-01-02T00:00:00.000000Z',
    paused: true,
  });
  const url = `${projectBase(home)}${created.id}/`;
  assert.equal((await home.ask('POST', `${url}unpause/`)).status, 200);
  const { results } = (await home.ask('GET', `${url}logs/`)).body;
  assert.match(results[0].message, /^Unpaused\. No run follows.*move end_at/);
  assert.match(results[1].message, /has no scheduled run.*move end_at, or start a backfill/);
  assert.equal((await home.ask('POST', `${url}backfill/`, range)).status, 200);
});

test('one export has a bounded number of open backfills', async () => {
  const home = await harness.newOrganization();
  const created = await newExport(home);
  const start = () => home.ask('POST', `${projectBase(home)}${created.id}/backfill/`, range);
  for (let number = 0; number < 20; number += 1) assert.equal((await start()).status, 200);
  assert.equal((await start()).status, 409);
});

test('a change of the interval during a backfill counts its runs again', async () => {
  const exporting = await openQueryHarness();
  try {
    const home = await exporting.harness.newOrganization();
    const quarters = Array.from({ length: 40 }, (_, quarter) => ({
      event: 'sent',
      at: new Date(Date.UTC(2026, 0, 1, 0, 15 * quarter + 5)).toISOString(),
    }));
    await exporting.insert(home, quarters);
    const { id } = await newExport(home, { interval: 'every 15 minutes', paused: true });
    const url = `${projectBase(home)}${id}/`;
    const asked = await home.ask('POST', `${url}backfill/`, {
      start_at: '2026-01-01T00:00:00Z',
      end_at: '2026-01-01T10:00:00Z',
    });
    const backfill = asked.body.backfill.id;
    const progress = async () => {
      const { body } = await home.ask('GET', `${url}backfills/${backfill}/`);
      return { status: body.status, ...body.progress };
    };
    assert.equal((await progress()).total_runs, 40);
    const engine = { ...exporting.harness.deps.engine, settle_seconds: 0 };
    await advanceBackfills(engine);
    assert.equal((await home.ask('PATCH', url, { interval: 'hour' })).status, 200);
    const changed = await progress();
    assert.ok(changed.total_runs > 10 && changed.total_runs < 40, `${changed.total_runs}`);
    await exporting.advance(id, backfill);
    const { status, total_runs, finished_runs, records_completed } = await progress();
    assert.deepEqual([status, records_completed], ['Completed', 40]);
    assert.equal(finished_runs, total_runs);
  } finally {
    await exporting.close();
  }
});
