import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { aroundTests } from '../../../../test/around_tests.ts';
import {
  newExport,
  noop_export,
  projectBase,
} from '../../../../test/factories/batch_exports/batch_exports.ts';
import { withEngine } from '../../../with_engine.ts';
import { openHarness } from '../../../../test/harness.ts';
import type { TestOrganization } from '../../../../test/harness.ts';
import { buildApp } from '../../../app.ts';
import { openClickHouse } from '../../../platform/clickhouse/client.ts';
import { faultsOf } from '../../../../test/watchers/faults_of.ts';

const harness = aroundTests(openHarness);

const query = "SELECT uuid, event AS kind, concat(event, 'x') AS y FROM events WHERE event = 'a'";
const other_query = 'SELECT count() AS n FROM events';
const schema = {
  fields: [
    { expression: 't0_uuid', alias: 'uuid' },
    { expression: 't0_event', alias: 'kind' },
    { expression: 'concat(t0_event, {p1:String})', alias: 'y' },
  ],
  values: { p1: 'x' },
  custom_query: query,
};
const urlOf = (home: TestOrganization, id: string) => `${projectBase(home)}${id}/`;
const send = (home: TestOrganization, method: string, path: string, body?: unknown) =>
  home.ask(method, path, body);
const revisionOf = async (id: string) =>
  (await harness.deps.db.row<{ revision: number }>(
    sql`SELECT revision FROM batch_exports WHERE id = ${id}`,
  ))!.revision;

test('a query comes back as it was sent, with the schema that it was resolved into', async () => {
  const home = await harness.newOrganization();
  const sent = `  ${query}\n-- a comment\n`;
  const created = await newExport(home, { custom_query: sent });
  assert.deepEqual(
    [created.custom_query, created.schema],
    [sent, { ...schema, custom_query: sent }],
  );
  assert.deepEqual((await send(home, 'GET', urlOf(home, created.id))).body, created);
  const plain = await newExport(home, { custom_query: null });
  assert.deepEqual([plain.custom_query, plain.schema], [null, null]);
});

test('null removes a query, an absent one stays, and each change starts a revision', async () => {
  const home = await harness.newOrganization();
  const { id } = await newExport(home, { custom_query: query });
  const put = { name: 'Put', destination: noop_export.destination, interval: 'hour' };
  const steps: [string, object, string | null, number][] = [
    ['PATCH', { name: 'Renamed' }, query, 1],
    ['PATCH', { custom_query: query, model: 'events' }, query, 1],
    ['PUT', put, query, 1],
    ['PATCH', { custom_query: other_query }, other_query, 2],
    ['PUT', { ...put, custom_query: query }, query, 3],
    [
      'PATCH',
      { model: 'persons', custom_query: 'SELECT distinct_id FROM persons' },
      'SELECT distinct_id FROM persons',
      4,
    ],
    ['PATCH', { custom_query: null }, null, 5],
    ['PATCH', { custom_query: null }, null, 5],
  ];
  for (const [method, body, custom_query, revision] of steps) {
    const { status, body: after, text } = await send(home, method, urlOf(home, id), body);
    assert.equal(status, 200, text);
    assert.deepEqual(
      [after.custom_query, after.schema?.custom_query ?? null, await revisionOf(id)],
      [custom_query, custom_query, revision],
      JSON.stringify(body),
    );
  }
  const log = (
    await send(home, 'GET', `/api/organizations/${home.organization.id}/activity/?item_id=${id}`)
  ).body.results;
  const fields = log.flatMap((entry: { changes: { field: string; after: unknown }[] }) =>
    entry.changes
      .filter(({ field }) => /query|^schema$/.test(field))
      .map(({ field, after }) => [field, after]),
  );
  assert.deepEqual(fields, [
    ['custom_query', null],
    ['custom_query', 'SELECT distinct_id FROM persons'],
    ['custom_query', query],
    ['custom_query', other_query],
    ['custom_query', query],
  ]);
});

test('a fault is a 400 that names line, column, piece and what was meant, one each', async () => {
  const home = await harness.newOrganization();
  const refused = await send(home, 'POST', projectBase(home), {
    ...noop_export,
    custom_query: 'SELECT evnt,\n  lenght(event) FROM events',
  });
  assert.equal(refused.status, 400);
  assert.deepEqual(faultsOf(refused), ['custom_query invalid_input', 'custom_query invalid_input']);
  assert.match(
    refused.body.errors[0].detail,
    /^Line 1, column 8 \(`evnt`\): .* Did you mean `event`\?$/,
  );
  assert.match(
    refused.body.errors[1].detail,
    /^Line 2, column 3 \(`lenght`\): .* Did you mean `length`\?$/,
  );
  const both = await send(home, 'POST', projectBase(home), {
    ...noop_export,
    name: '',
    custom_query: 'SELECT evnt FROM events',
  });
  assert.deepEqual(
    both.body.errors.map(({ attr }: { attr: string }) => attr),
    ['name', 'custom_query'],
  );
  const long = await send(home, 'POST', projectBase(home), {
    ...noop_export,
    custom_query: `SELECT event FROM events --${'x'.repeat(65_536)}`,
  });
  assert.deepEqual(faultsOf(long), ['custom_query max_length']);
  // Only the store finds this one wrong.
  const pattern = await send(home, 'POST', projectBase(home), {
    ...noop_export,
    custom_query: "SELECT event FROM events WHERE match(event, '[')",
  });
  assert.match(pattern.body.detail, /^Line 1, column 45 \(`'\['`\): This regular expression/);
});

test('a change of model or destination checks the stored query, dry runs too', async () => {
  const home = await harness.newOrganization();
  const { id } = await newExport(home, {
    custom_query: 'SELECT event AS xmin, person.properties.plan AS plan FROM events',
  });
  const model = await send(home, 'PATCH', urlOf(home, id), { model: 'persons' });
  assert.equal(model.status, 200, 'the table of events is there for every model');
  const config = { host: 'example.com', user: 'u', password: 'p', database: 'd' };
  const destination = await send(home, 'PATCH', urlOf(home, id), {
    destination: { type: 'Postgres', config },
  });
  assert.deepEqual([destination.status, destination.body.attr], [400, 'custom_query']);
  assert.match(destination.body.detail, /column `xmin` in every table/);
  const bad = { ...noop_export, custom_query: 'SELECT evnt FROM events' };
  for (const path of [
    `${projectBase(home)}?validate_only=true`,
    `${projectBase(home)}test/`,
    `${projectBase(home)}preview/`,
  ])
    assert.deepEqual((await send(home, 'POST', path, bad)).body.attr, 'custom_query', path);
  for (const path of [`${urlOf(home, id)}test/`, `${urlOf(home, id)}preview/`])
    assert.deepEqual(
      (await send(home, 'POST', path, { custom_query: bad.custom_query })).body.attr,
      'custom_query',
      path,
    );
  const checked = await send(home, 'PATCH', `${urlOf(home, id)}?validate_only=true`, {
    custom_query: other_query,
  });
  assert.deepEqual([checked.status, checked.body.schema.custom_query], [200, other_query]);
  assert.notEqual((await send(home, 'GET', urlOf(home, id))).body.custom_query, other_query);
});

test('names that a destination cannot take are refused before anything is created', async () => {
  const home = await harness.newOrganization();
  const sql_config = { host: 'example.com', user: 'u', password: 'p', database: 'd' };
  const cases: [string, object, string, RegExp][] = [
    ['Postgres', sql_config, `event AS \`${'ä'.repeat(32)}\``, /at most 63 bytes/],
    ['Postgres', sql_config, 'event AS ctid', /`ctid` in every table/],
    ['MySQL', sql_config, 'event AS `😀`', /beyond U\+FFFF/],
    ['MySQL', sql_config, 'event AS `x `', /space at the end/],
    ['MySQL', sql_config, 'event AS x, event AS X', /ignores case in names/],
    [
      'ClickHouse',
      { url: 'https://example.com:8443', password: '' },
      'event AS sluice_stage_id, event AS _partition_id',
      /already has a column `sluice_stage_id`/,
    ],
  ];
  const taken = new Set<string>();
  for (const [type, config, columns, detail] of cases) {
    const body = {
      ...noop_export,
      destination: { type, config },
      custom_query: `SELECT ${columns} FROM events`,
    };
    const refused = await send(home, 'POST', projectBase(home), body);
    assert.deepEqual([refused.status, refused.body.attr], [400, 'custom_query'], refused.text);
    assert.match(refused.body.detail, detail);
    assert.equal(refused.body.errors.length, columns.includes('_partition_id') ? 2 : 1);
    if (taken.has(type)) continue;
    taken.add(type);
    assert.equal(
      (await send(home, 'POST', projectBase(home), { ...body, custom_query: query })).status,
      201,
    );
  }
});

test('hostile texts are 400', async () => {
  const home = await harness.newOrganization();
  const texts = [
    "SELECT * FROM file('/etc/passwd')",
    'SELECT * FROM system.tables',
    'SELECT event FROM events; DROP TABLE events',
    'SELECT event FROM events SETTINGS readonly = 0',
    "SELECT event FROM events INTO OUTFILE '/tmp/x' FORMAT CSV",
    "SELECT event FROM merge('.*')",
    'SELECT event FROM default.events',
    'DROP TABLE events',
    `SELECT ${'('.repeat(10_000)}1${')'.repeat(10_000)} FROM events`,
    "SELECT currentUser(), getSetting('readonly') FROM events",
    'SELECT sleep(3) FROM events',
  ];
  for (const custom_query of texts) {
    const refused = await send(home, 'POST', projectBase(home), { ...noop_export, custom_query });
    assert.deepEqual(
      [refused.status, refused.body.attr],
      [400, 'custom_query'],
      custom_query.slice(0, 100),
    );
  }
});

test('without the analytics store a query is not checked: 503, nothing is changed', async () => {
  const home = await harness.newOrganization();
  const { id } = await newExport(home, { custom_query: query });
  const away = openClickHouse('http://127.0.0.1:9/none', { application: 'sluice-test' });
  const app = buildApp(withEngine({ ...harness.deps, clickhouse: away }));
  const headers = { authorization: `Bearer ${home.key}`, 'content-type': 'application/json' };
  const patch = (body: object) =>
    app.inject({ method: 'PATCH', url: urlOf(home, id), headers, payload: JSON.stringify(body) });
  assert.equal((await patch({ custom_query: other_query })).statusCode, 503);
  assert.equal((await patch({ name: 'Renamed' })).statusCode, 200);
  await app.close();
  await away.close();
  const found = (await send(home, 'GET', urlOf(home, id))).body;
  assert.deepEqual([found.name, found.custom_query], ['Renamed', query]);
});
