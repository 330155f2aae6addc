import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import {
  attrsOf,
  insertRunRow,
  newExport,
  noop_export,
  organizationBase,
  projectBase,
} from '../../../test/factories/batch_exports/batch_exports.ts';
import { shareHarness } from '../../../test/harness.ts';
import type { TestOrganization } from '../../../test/harness.ts';
import { isLater } from '../../../test/watchers/instants.ts';

const harness = shareHarness({ clickhouse: false });

const create = (home: TestOrganization, body: Record<string, unknown> = {}) =>
  newExport(home, body);

test('an export is created with defaults, is under both mounts, listed newest first', async () => {
  const home = await harness.newOrganization({ level: 1 });
  const first = await create(home);
  const { id, created_at, last_updated_at, next_run, ...rest } = first;
  assert.equal(
    Date.parse(next_run.data_interval_end) - Date.parse(next_run.data_interval_start),
    3_600_000,
  );
  assert.deepEqual(rest, {
    team_id: home.project.id,
    name: 'Nightly',
    model: 'events',
    destination: { type: 'NoOp', config: { arg: '' } },
    interval: 'hour',
    paused: false,
    last_paused_at: null,
    pause_reason: null,
    start_at: null,
    end_at: null,
    freshness_seconds: null,
    rejected_rows: 'stop',
    rejected_rows_max: 1000,
    rejected_percent_max: 10,
    tags: [],
    verified_through: null,
    verification: null,
    connection_id: null,
    latest_runs: [],
    custom_query: null,
    columns: null,
    new_columns: 'add',
    schema_number: null,
    waiting_schema: null,
    schema: null,
    hogql_query: null,
    timezone: 'UTC',
    offset_day: null,
    offset_hour: null,
    offset_minute: null,
    mode: null,
    incremental_mode: 'APPEND',
    primary_key: null,
    version_key: null,
    allow_empty: false,
    managed_by: null,
  });
  assert.equal(created_at, last_updated_at);
  const second = await create(home, {
    name: 'Second',
    start_at: '2030-01-01T00:00:00+02:00',
    end_at: '2031-01-01T00:00:00.000000Z',
    paused: true,
    model: 'persons',
    interval: 'every 15 minutes',
  });
  assert.equal(second.start_at, '2029-12-31T22:00:00.000000Z');
  for (const base of [projectBase(home), organizationBase(home)]) {
    const list = await home.ask('GET', base);
    assert.deepEqual(list.body, { count: 2, next: null, previous: null, results: [second, first] });
    assert.deepEqual((await home.ask('GET', `${base}${id}/`)).body, first);
    const page = await home.ask('GET', `${base}?limit=1&offset=1`);
    assert.deepEqual([page.body.count, page.body.next, page.body.results[0].id], [2, null, id]);
  }
});

test('under an organization a new export goes to team_id or the oldest project', async () => {
  const home = await harness.newOrganization();
  const other = await harness.newOrganization();
  const project = await home.ask('POST', '/api/projects/', {
    name: 'Second',
    organization: home.organization.id,
  });
  const post = (body: Record<string, unknown>) =>
    home.ask('POST', organizationBase(home), { ...noop_export, ...body });
  assert.equal((await post({})).body.team_id, home.project.id);
  assert.equal((await post({ team_id: project.body.id })).body.team_id, project.body.id);
  for (const team_id of [
    other.project.id,
    0,
    -1,
    2_147_483_648,
    Number.MAX_SAFE_INTEGER,
    'x',
    1.5,
    null,
  ]) {
    const refused = await post({ team_id });
    assert.equal(refused.status, 400, refused.text);
    assert.equal(refused.body.attr, 'team_id');
  }
  for (const team_id of [other.project.id, 'x', null]) {
    const inProject = await home.ask('POST', projectBase(home), { ...noop_export, team_id });
    assert.equal(inProject.body.team_id, home.project.id, inProject.text);
  }
  const listed = await home.ask('GET', organizationBase(home));
  assert.equal(listed.body.count, 5);
  assert.equal((await home.ask('GET', projectBase(home))).body.count, 4);
});

test('PATCH changes what is sent, keeps the rest and is idempotent', async () => {
  const home = await harness.newOrganization();
  const created = await create(home, {
    destination: { type: 'File', config: { prefix: 'a', compression: 'gzip' } },
  });
  const url = `${projectBase(home)}${created.id}/`;
  const patch = (body: unknown) => home.ask('PATCH', url, body);
  assert.deepEqual((await patch({})).body, created);
  assert.deepEqual(
    (
      await patch({
        name: 'Nightly',
        id: 'x',
        team_id: 1,
        created_at: 'x',
        latest_runs: 7,
        schema: 1,
        unknown: {},
      })
    ).body,
    created,
  );
  const renamed = (
    await patch({ name: ' Renamed ', last_paused_at: '2020-01-01T00:00:00.123456Z' })
  ).body;
  assert.deepEqual(
    { ...renamed, last_updated_at: 0 },
    {
      ...created,
      name: 'Renamed',
      last_paused_at: '2020-01-01T00:00:00.123456Z',
      last_updated_at: 0,
    },
  );
  assert.ok(isLater(renamed.last_updated_at, created.last_updated_at));
  assert.deepEqual(
    (await patch({ destination: { config: { file_format: 'Parquet', compression: 'zstd' } } })).body
      .destination.config,
    {
      prefix: 'a',
      compression: 'zstd',
      file_format: 'Parquet',
      max_file_size_mb: null,
      partition_by: [],
    },
  );
  assert.deepEqual((await patch({ destination: { type: 'NoOp' } })).body.destination, {
    type: 'NoOp',
    config: { arg: '' },
  });
  assert.deepEqual(attrsOf(await patch({ destination: { type: 'File' } })), [
    'destination__config__prefix required',
  ]);
  assert.deepEqual(attrsOf(await patch({ destination: { config: { prefix: 'x' } } })), [
    'destination__config__prefix unknown_field',
  ]);
  assert.equal(
    (await patch({ last_paused_at: null, start_at: '2026-01-01T00:00:00.000000Z' })).body
      .last_paused_at,
    null,
  );
  assert.deepEqual(attrsOf(await patch({ end_at: '2025-01-01T00:00:00.000000Z' })), [
    'end_at invalid_input',
  ]);
  assert.equal(
    (await patch({ start_at: null, end_at: '2025-01-01T00:00:00.000000Z' })).body.end_at,
    '2025-01-01T00:00:00.000000Z',
  );
});

test('PUT demands the required fields and replaces the config', async () => {
  const home = await harness.newOrganization();
  const created = await create(home, {
    destination: { type: 'File', config: { prefix: 'a', compression: 'gzip' } },
    end_at: '2040-01-01T00:00:00.000000Z',
  });
  const url = `${projectBase(home)}${created.id}/`;
  assert.deepEqual(attrsOf(await home.ask('PUT', url, { name: 'x' })), [
    'destination required',
    'interval required',
  ]);
  const changed = await home.ask('PUT', url, {
    name: 'x',
    interval: 'day',
    destination: { type: 'File', config: { prefix: 'b' } },
  });
  assert.equal(changed.status, 200, changed.text);
  assert.deepEqual(changed.body.destination.config, {
    prefix: 'b',
    compression: null,
    file_format: 'JSONLines',
    max_file_size_mb: null,
    partition_by: [],
  });
  assert.deepEqual(
    [changed.body.end_at, changed.body.interval, changed.body.name],
    ['2040-01-01T00:00:00.000000Z', 'day', 'x'],
  );
});

test('a deleted export is gone everywhere and its runs and backfills are cancelled', async () => {
  const home = await harness.newOrganization();
  const created = await create(home);
  const url = `${projectBase(home)}${created.id}/`;
  const run = await insertRunRow(harness, created.id, {});
  const started = await home.ask('POST', `${url}backfill/`, {
    start_at: '2026-01-01T00:00:00.000000Z',
    end_at: '2026-01-02T00:00:00.000000Z',
  });
  const gone = await home.ask('DELETE', url);
  assert.deepEqual([gone.status, gone.text], [204, '']);
  for (const path of [
    '',
    'logs/',
    'runs/',
    `runs/${run}/`,
    `runs/${run}/logs/`,
    `runs/${run}/receipt/`,
    'backfills/',
    `backfills/${started.body.backfill.id}/`,
  ]) {
    assert.equal((await home.ask('GET', `${url}${path}`)).status, 404, path);
  }
  for (const path of [
    'pause/',
    'unpause/',
    'backfill/',
    `runs/${run}/cancel/`,
    `runs/${run}/retry/`,
    `backfills/${started.body.backfill.id}/cancel/`,
  ]) {
    assert.equal((await home.ask('POST', `${url}${path}`)).status, 404, path);
  }
  assert.equal((await home.ask('DELETE', url)).status, 404);
  assert.equal((await home.ask('PATCH', url, { name: 'x' })).status, 404);
  assert.equal((await home.ask('GET', organizationBase(home))).body.count, 0);
  const state = await harness.deps.db.row(sql`
    SELECT r.cancel_requested_at IS NOT NULL AS run, b.status AS backfill
      FROM batch_export_runs r, batch_export_backfills b WHERE r.id = ${run}
      AND b.batch_export_id = ${created.id}`);
  assert.deepEqual(state, { run: true, backfill: 'Cancelled' });
});

test('latest_runs are the ten newest of each export of a page, in one statement', async () => {
  const home = await harness.newOrganization();
  const [one, two] = [await create(home), await create(home)];
  const runs: string[] = [];
  for (let number = 0; number < 12; number += 1)
    runs.unshift(await insertRunRow(harness, one.id, { status: 'Completed', hour: number }));
  const single = await insertRunRow(harness, two.id, { status: 'Completed' });
  const before = harness.deps.db.statementCount();
  const list = await home.ask('GET', projectBase(home));
  assert.ok(harness.deps.db.statementCount() - before <= 3);
  assert.deepEqual(
    list.body.results.map((row: { latest_runs: { id: string }[] }) =>
      row.latest_runs.map((run) => run.id),
    ),
    [[single], runs.slice(0, 10)],
  );
  const [latest] = list.body.results[1].latest_runs;
  assert.deepEqual(
    (await home.ask('GET', `${projectBase(home)}${one.id}/runs/${latest.id}/`)).body,
    latest,
  );
});
