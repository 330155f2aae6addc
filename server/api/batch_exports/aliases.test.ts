import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newExport, projectBase } from '../../../test/factories/batch_exports/batch_exports.ts';
import { shareHarness } from '../../../test/harness.ts';
import type { TestOrganization } from '../../../test/harness.ts';
import { alias_names } from './aliases.ts';

const harness = shareHarness({
  opened: async () => {
    home = await harness.newOrganization();
  },
});
let home: TestOrganization;

const destination = {
  type: 'Postgres',
  config: { user: 'u', password: 'p', host: 'h', database: 'd' },
};
const other_names = [...alias_names, 'primary_key', 'version_key'];
const shown = (record: any) => Object.fromEntries(other_names.map((name) => [name, record[name]]));
const appended = { incremental_mode: 'APPEND', primary_key: null, version_key: null };
const person_key = ['team_id', 'distinct_id'];

test('each export answers the other names with what it does', async () => {
  const cases: [object, object][] = [
    [{}, appended],
    [{ destination }, appended],
    [
      { model: 'persons', destination },
      {
        incremental_mode: 'MERGE',
        primary_key: person_key,
        version_key: ['person_version', 'person_distinct_id_version'],
      },
    ],
    [
      { model: 'person_distinct_ids', destination },
      { incremental_mode: 'MERGE', primary_key: person_key, version_key: ['version'] },
    ],
    [
      { model: 'sessions', destination },
      {
        incremental_mode: 'MERGE',
        primary_key: ['team_id', 'session_id'],
        version_key: ['session_version'],
      },
    ],
    [
      { destination, incremental_mode: 'MERGE', primary_key: ['uuid'], version_key: ['timestamp'] },
      { incremental_mode: 'MERGE', primary_key: ['uuid'], version_key: ['timestamp'] },
    ],
    [{ destination, incremental_mode: 'APPEND' }, appended],
    [{ model: 'persons' }, appended],
    [
      { model: 'persons', destination, custom_query: 'SELECT distinct_id FROM persons' },
      {
        incremental_mode: null,
        primary_key: null,
        hogql_query: 'SELECT distinct_id FROM persons',
      },
    ],
  ];
  for (const [body, expected] of cases) {
    const created = await newExport(home, body as Record<string, unknown>);
    assert.deepEqual(
      shown(created),
      { ...shown(created), hogql_query: null, ...expected },
      JSON.stringify(body),
    );
    // The API accepts what it answered, in a new export too.
    const url = `${projectBase(home)}${created.id}/`;
    const read = await home.ask('GET', url);
    const put = await home.ask('PUT', url, read.body);
    assert.deepEqual([put.status, put.headers['etag']], [200, read.headers['etag']], put.text);
    const { id: _id, ...again } = read.body;
    const sent = { ...again, destination: (body as any).destination ?? again.destination };
    assert.equal((await home.ask('POST', projectBase(home), sent)).status, 201);
  }
});

test('an option that an export lacks is refused by its name', async () => {
  const { id } = await newExport(home, { destination });
  const url = `${projectBase(home)}${id}/`;
  for (const [attr, value] of [
    ['primary_key', ['uuid']],
    ['version_key', ['timestamp']],
  ] as const) {
    const body = { name: 'New', interval: 'hour', destination, [attr]: value };
    for (const answer of [
      await home.ask('PATCH', url, { [attr]: value }),
      await home.ask('POST', projectBase(home), body),
      await home.ask('POST', `${projectBase(home)}test/`, body),
    ]) {
      assert.deepEqual([answer.status, answer.body.attr], [400, attr], answer.text);
      assert.match(answer.body.detail, /: send .*, or leave the field out\./);
    }
  }
});

test('what other servers have, and an export has not, is refused or told by its name', async () => {
  const create = (body: object) =>
    home.ask('POST', projectBase(home), {
      name: 'Theirs',
      interval: 'day',
      destination: { type: 'NoOp', config: {} },
      ...body,
    });
  const model = await create({ model: 'hogql', hogql_query: 'SELECT event FROM events' });
  assert.deepEqual([model.status, model.body.attr], [400, 'model'], model.text);
  const hogql_query =
    "SELECT event FROM events WHERE timestamp >= '{data_interval_start}' AND " +
    'timestamp < {data_interval_end}';
  const placeholder = await create({ hogql_query });
  assert.deepEqual([placeholder.status, placeholder.body.attr], [400, 'custom_query']);
  assert.match(placeholder.body.detail, /reads the rows of its own interval by itself/);
  const databricks = await create({ destination: { type: 'Databricks', config: {} } });
  assert.deepEqual([databricks.status, databricks.body.attr], [400, 'destination__type']);
  const filters = [{ key: 'plan', value: 'pro', type: 'event', operator: 'exact' }];
  const filtered = await create({ filters });
  assert.deepEqual([filtered.status, filtered.body.attr], [400, 'filters'], filtered.text);
  assert.match(filtered.body.detail, /`include_events`, or select rows with `custom_query`/);
  const theirs = { filters: [], group_type_index: 0, integration: 7, modifiers: {} };
  const told = await create(theirs);
  assert.equal(told.status, 201, told.text);
  assert.deepEqual(String(told.headers['sluice-ignored']).split(', '), Object.keys(theirs));
  const week = await create({ interval: 'week', offset_day: 0, offset_hour: 6 });
  assert.deepEqual([week.body.offset_day, week.body.offset_hour], [0, 6]);
  assert.equal((await create({ interval: 'every minute' })).status, 201);
});

test('a query is taken under both names, and told once in the log', async () => {
  const query = 'SELECT event FROM events';
  const { id } = await newExport(home, { hogql_query: query });
  const url = `${projectBase(home)}${id}/`;
  const other = 'SELECT uuid FROM events';
  const changed = await home.ask('PATCH', url, { hogql_query: other });
  assert.deepEqual(
    [changed.body.custom_query, changed.body.hogql_query, changed.body.schema.fields[0].alias],
    [other, other, 'uuid'],
  );
  const both = await home.ask('PATCH', url, {
    hogql_query: 'SELECT 1 FROM events',
    custom_query: null,
  });
  assert.deepEqual([both.status, both.body.attr], [400, 'hogql_query']);
  const gone = await home.ask('PATCH', url, { hogql_query: null });
  assert.deepEqual([gone.status, gone.body.custom_query], [200, null]);
  const log = `/api/organizations/${home.organization.id}/activity/?item_id=${id}&activity=updated`;
  const [entry] = (await home.ask('GET', log)).body.results;
  assert.deepEqual(
    entry.changes.map(({ field }: { field: string }) => field),
    ['custom_query'],
  );
});

test('a backfill is begun in the list of backfills, too', async () => {
  const { id } = await newExport(home);
  const url = `${projectBase(home)}${id}/backfills/`;
  const range = { start_at: '2026-01-01T00:00:00Z', end_at: '2026-01-01T03:00:00Z' };
  const tried = await home.ask('POST', url, { ...range, dry_run: true });
  assert.deepEqual([tried.status, tried.body.backfill_id], [201, null], tried.text);
  const begun = await home.ask('POST', `${url}?origin=theirs`, range);
  const { id: export_id, backfill_id, backfill } = begun.body;
  assert.deepEqual(
    [begun.status, export_id, backfill_id, begun.headers['sluice-ignored']],
    [201, id, backfill.id, 'origin'],
  );
  const listed = (await home.ask('GET', url)).body.results;
  assert.deepEqual(
    listed.map((one: { id: string }) => one.id),
    [backfill_id],
  );
  assert.equal((await home.ask('POST', url, {})).status, 400);
});

test('the projects of an organization are those that the caller sees there', async () => {
  const path = `/api/organizations/${home.organization.id}/projects/`;
  const created = await home.ask('POST', '/api/projects/', {
    name: 'Second',
    organization: home.organization.id,
  });
  const elsewhere = await home.ask('POST', '/api/organizations/', { name: 'Elsewhere' });
  assert.equal(elsewhere.status, 201);
  const { body } = await home.ask('GET', `${path}?limit=1&basic=true`);
  assert.deepEqual([body.count, body.results.length, body.results[0].id], [2, 1, home.project.id]);
  const { body: rest } = await home.ask('GET', `${path}?offset=1`);
  assert.equal(rest.results[0].id, created.body.id);
  const stranger = await harness.newOrganization();
  assert.equal((await stranger.ask('GET', path)).status, 404);
});
