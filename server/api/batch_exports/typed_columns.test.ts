// Length: the tests of typed columns share a schema and a table.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { aroundTests } from '../../../test/around_tests.ts';
import { attrsOf, projectBase } from '../../../test/factories/batch_exports/batch_exports.ts';
import { openQueryHarness } from '../../../test/factories/batch_exports/query_exports.ts';
import { openPostgresServer } from '../../../test/servers/databases/postgres_destination.ts';
import type { TestOrganization } from '../../../test/harness.ts';
import { verifyExports } from '../../engine/exports/verification/verify_exports.ts';
import { addColumns, removeColumns } from '../../engine/model/schema/store.ts';
import type { TypedProperty } from '../../engine/model/schema/store.ts';

const exporting = aroundTests(openQueryHarness);
const postgres = aroundTests(openPostgresServer);

const add = (
  home: TestOrganization,
  ...wanted: [property: string, type: TypedProperty['type']][]
) =>
  exporting.harness.deps.db.transaction((tx) =>
    addColumns(
      tx,
      home.project.id,
      wanted.map(([property, type]) => ({ source: 'event', property, type })),
      null,
    ),
  );

const hours = [0, 1, 2].map((hour) => ({
  event: `event ${hour}`,
  at: `2026-01-01T0${hour}:10:00Z`,
  properties: { plan: 'pro', amount: hour === 1 ? '9.99' : hour, other: [hour] },
}));

/** A project with an event in each of three hours, and a schema of two properties. */
async function withSchema(): Promise<TestOrganization> {
  const home = await exporting.harness.newOrganization();
  await exporting.insert(home, hours);
  await add(home, ['plan', 'text'], ['amount', 'integer']);
  return home;
}

async function toTable() {
  const config = await postgres.freshConfig();
  const table = `${config.schema}.events`;
  const rows = async (columns: string) => {
    const text = `SELECT ${columns} FROM ${table} ORDER BY event`;
    return (await postgres.pool.query({ text, rowMode: 'array' })).rows;
  };
  return { table, rows, destination: { type: 'Postgres', config } };
}

async function logOf(get: (path: string) => Promise<{ body: any }>): Promise<string[]> {
  const { body } = await get('logs/?limit=100');
  return body.results.map(({ message }: { message: string }) => message);
}

test('an export says whether its properties are columns, and refuses what cannot be', async () => {
  const home = await withSchema();
  const ask = (body: object) =>
    home.ask('POST', projectBase(home), {
      name: 'typed',
      interval: 'hour',
      destination: { type: 'NoOp', config: {} },
      ...body,
    });
  const plain = (await ask({})).body;
  assert.deepEqual([plain.columns, plain.new_columns, plain.schema_number], [null, 'add', null]);
  const waiting = (await ask({ columns: 'typed', new_columns: 'wait' })).body;
  assert.deepEqual(
    [waiting.columns, waiting.new_columns, waiting.schema_number],
    ['typed', 'wait', 1],
  );
  const cases: [body: object, refused: string[]][] = [
    [{ columns: 'typed', custom_query: 'SELECT uuid FROM events' }, ['columns invalid_choice']],
    [{ columns: 'typed', model: 'sessions' }, ['columns invalid_choice']],
    [{ columns: 'typed', schema_number: 1 }, ['schema_number invalid_input']],
    [{ columns: 'typed', new_columns: 'wait', schema_number: 2 }, ['schema_number max_value']],
    [{ columns: 'json' }, ['columns invalid_choice']],
    [{ columns: 'typed', new_columns: 'later' }, ['new_columns invalid_choice']],
  ];
  for (const [body, refused] of cases) assert.deepEqual(attrsOf(await ask(body)), refused);
  const url = `${projectBase(home)}${waiting.id}/`;
  const read = await home.ask('GET', url);
  const put = await home.ask('PUT', url, read.body);
  assert.deepEqual([put.status, put.headers['etag']], [200, read.headers['etag']], put.text);
  const effect = async (body: object) =>
    (await home.ask('POST', `${url}effect/`, body)).body.starts_anew;
  assert.deepEqual(
    [
      await effect({ columns: null }),
      await effect({ new_columns: 'add' }),
      await effect({ schema_number: 0 }),
    ],
    [true, false, false],
  );
});

test('a property is a column of a table, and what does not fit is in the rest', async () => {
  const home = await withSchema();
  const { rows, destination } = await toTable();
  const { id, get } = await exporting.scheduled(home, { destination, columns: 'typed' });
  const runs = await exporting.runAll(id);
  assert.deepEqual(
    runs.map(({ status, latest_error }) => [status, latest_error]),
    runs.map(() => ['Completed', null]),
  );
  assert.deepEqual(await rows('p_plan, p_amount::int, properties_rest'), [
    ['pro', 0, { other: [0] }],
    ['pro', null, { other: [1], amount: '9.99' }],
    ['pro', 2, { other: [2] }],
  ]);
  const { results } = (await get('runs/?ordering=data_interval_start')).body;
  assert.deepEqual(
    results.map((run: any) => [run.schema_number, run.values_unfit]),
    [
      [1, 0],
      [1, 1],
      [1, 0],
    ],
  );
  assert.equal((await get(`runs/${results[0].id}/receipt/`)).body.schema_number, 1);
  assert.ok(
    (await logOf(get)).some((line) =>
      line.startsWith('1 value did not fit the type of the column and stayed whole in properties'),
    ),
  );
  const [finding] = await verifyExports(exporting.harness.deps.engine, id);
  assert.deepEqual([finding!.fault, finding!.differences], [null, []]);
});

test('a later property adds a column, and earlier rows are still as delivered', async () => {
  const home = await withSchema();
  const { rows, table, destination } = await toTable();
  const adding = await exporting.scheduled(home, { destination, columns: 'typed' }, 1);
  await exporting.runAll(adding.id);
  await add(home, ['other', 'json'], ['amount', 'json']);
  await exporting.extend(adding.id, 2);
  await exporting.runAll(adding.id);
  await exporting.harness.deps.db.transaction((tx) =>
    removeColumns(tx, home.project.id, [{ source: 'event', column: 'p_plan' }]),
  );
  await exporting.extend(adding.id, 3);
  await exporting.runAll(adding.id);
  assert.deepEqual(await rows('p_plan, p_amount::int, p_amount_json, p_other, properties_rest'), [
    ['pro', 0, null, null, { other: [0] }],
    ['pro', null, '9.99', [1], {}],
    [null, 2, 2, [2], { plan: 'pro' }],
  ]);
  assert.ok(
    (await logOf(adding.get)).includes(
      'Schema 2 brings 2 new columns: p_other (json), p_amount_json (json). Earlier rows have ' +
        'these values in properties_rest.',
    ),
  );
  const { engine } = exporting.harness.deps;
  const [finding] = await verifyExports(engine, adding.id);
  assert.deepEqual([finding!.fault, finding!.differences], [null, []]);
  // The source loses the rows: then the digests of the receipts say that all are there.
  await exporting.harness.deps.clickhouse.command({
    query: `ALTER TABLE events DELETE WHERE team_id = ${home.project.id}
      SETTINGS mutations_sync = 1`,
  });
  const [gone] = await verifyExports(engine, adding.id);
  assert.deepEqual([gone!.fault, gone!.differences], [null, []]);
  await postgres.pool.query(`UPDATE ${table} SET p_other = '[7]' WHERE event = 'event 1'`);
  const [changed] = await verifyExports(engine, adding.id);
  assert.deepEqual(
    changed!.differences.map(({ kind }) => kind),
    ['changed'],
  );
});

test('an export that waits takes new columns when somebody says so', async () => {
  const home = await withSchema();
  const { rows, destination } = await toTable();
  const waiting = await exporting.scheduled(
    home,
    { destination, columns: 'typed', new_columns: 'wait' },
    1,
  );
  await exporting.runAll(waiting.id);
  await add(home, ['other', 'json']);
  await exporting.extend(waiting.id, 2);
  await exporting.runAll(waiting.id);
  assert.deepEqual(await rows('properties_rest'), [
    [{ other: [0] }],
    [{ other: [1], amount: '9.99' }],
  ]);
  assert.equal((await waiting.send('PATCH', '', { schema_number: 2 })).status, 200);
  await exporting.extend(waiting.id, 3);
  await exporting.runAll(waiting.id);
  assert.deepEqual(await rows('p_other, properties_rest'), [
    [null, { other: [0] }],
    [null, { other: [1], amount: '9.99' }],
    [[2], {}],
  ]);
});

test('a table whose columns somebody changed is refused before the first byte', async () => {
  const changes: [statement: string, code: string, error: RegExp][] = [
    ['DROP COLUMN p_amount', 'columns_missing', /lacks the column p_amount bigint. Add it,/],
    [
      'ALTER COLUMN p_amount TYPE integer',
      'table_unsuitable',
      /cannot hold the typed columns whole: p_amount is integer and must be bigint/,
    ],
    ['ALTER COLUMN p_plan TYPE varchar(2)', 'table_unsuitable', /p_plan is character varying\(2\)/],
    [
      'ALTER COLUMN p_amount SET DEFAULT 0, ALTER COLUMN p_plan SET NOT NULL',
      'table_unsuitable',
      /p_plan must take NULL/,
    ],
  ];
  for (const [statement, code, error] of changes) {
    const home = await withSchema();
    const { rows, table, destination } = await toTable();
    const { id } = await exporting.scheduled(home, { destination, columns: 'typed' }, 1);
    await exporting.runAll(id);
    await postgres.pool.query(`UPDATE ${table} SET p_plan = 'p'`);
    await postgres.pool.query(`ALTER TABLE ${table} ${statement}`);
    await exporting.extend(id, 2);
    const runs = await exporting.runAll(id);
    assert.deepEqual([runs[1]!.status, runs[1]!.error_code], ['Failed', code], statement);
    assert.match(runs[1]!.latest_error!, error);
    assert.equal((await rows('event')).length, 1);
  }
});

test('a column that only the owner of the table may add is told as a statement', async () => {
  const home = await withSchema();
  const { table, destination } = await toTable();
  const { schema } = destination.config;
  const writer = { user: `${schema}_writer`, password: 'of the writer' };
  await postgres.pool.query(
    `CREATE ROLE ${writer.user} LOGIN PASSWORD '${writer.password}';
      GRANT ALL ON SCHEMA ${schema} TO ${writer.user}`,
  );
  const { id, send } = await exporting.scheduled(
    home,
    {
      destination: { ...destination, config: { ...destination.config, ...writer } },
      columns: 'typed',
    },
    1,
  );
  await exporting.runAll(id);
  await postgres.pool.query(
    `ALTER TABLE ${table} OWNER TO CURRENT_USER; GRANT ALL ON ${table} TO ${writer.user}`,
  );
  await add(home, ['other', 'json']);
  await exporting.extend(id, 2);
  const runs = await exporting.runAll(id);
  assert.equal(runs[1]!.error_code, 'columns_missing');
  const statement = `ALTER TABLE "${schema}"."events" ADD COLUMN IF NOT EXISTS "p_other" jsonb`;
  assert.equal(
    runs[1]!.latest_error,
    `The table ${table} lacks the column p_other jsonb, and Sluice may not add it (must be ` +
      `owner of table events). Run this as the owner of the table, then retry: ${statement};`,
  );
  await postgres.pool.query(statement);
  assert.equal((await send('POST', `runs/${runs[1]!.id}/retry/`, {})).status, 200);
  const after = await exporting.runAll(id);
  assert.equal(after.at(-1)!.status, 'Completed');
});

test('merged rows, files and previews have typed columns too', async () => {
  const home = await withSchema();
  const { rows, destination } = await toTable();
  const merging = await exporting.scheduled(home, {
    destination,
    columns: 'typed',
    mode: 'merge',
    primary_key: ['p_plan'],
    version_key: ['inserted_at'],
  });
  await exporting.runAll(merging.id);
  assert.deepEqual(await rows('p_plan, p_amount::int, properties_rest'), [
    ['pro', 2, { other: [2] }],
  ]);
  const prefix = randomUUID();
  const files = await exporting.scheduled(home, {
    destination: { type: 'File', config: { prefix } },
    columns: 'typed',
  });
  await exporting.runAll(files.id);
  const [first] = await exporting.filesIn(prefix, '.jsonl');
  const { properties_rest, p_plan, p_amount, properties } = JSON.parse(first!.toString());
  assert.deepEqual(
    [properties_rest, p_plan, p_amount, properties],
    [{ other: [0] }, 'pro', 0, undefined],
  );
  await add(home, ['other', 'json']);
  const preview = await files.send('POST', 'preview/', {});
  assert.deepEqual(preview.body.columns.slice(-3), ['p_plan', 'p_amount', 'p_other']);
  assert.deepEqual(preview.body.rows[0].slice(-3), ['pro', '0', '[0]']);
  const tested = await merging.send('POST', 'test/', {});
  const steps = tested.body.steps as { status: string }[];
  assert.deepEqual([...new Set(steps.map(({ status }) => status))], ['passed']);
  await assert.rejects(rows('p_other'), /does not exist/);
  const found = await verifyExports(exporting.harness.deps.engine, files.id);
  assert.deepEqual([found[0]!.fault, found[0]!.differences], [null, []]);
});

test('persons have typed columns too', async () => {
  const home = await exporting.harness.newOrganization();
  await exporting.insert(
    home,
    [],
    [{ distinct_id: 'a', at: '2026-01-01T00:10:00Z', version: 1, properties: { age: 7, x: null } }],
  );
  await exporting.harness.deps.db.transaction((tx) =>
    addColumns(tx, home.project.id, [{ source: 'person', property: 'age', type: 'integer' }], null),
  );
  const { table, destination } = await toTable();
  const { id } = await exporting.scheduled(
    home,
    {
      destination: { ...destination, config: { ...destination.config, table_name: 'people' } },
      model: 'persons',
      columns: 'typed',
    },
    1,
  );
  await exporting.runAll(id);
  const { rows } = await postgres.pool.query(
    `SELECT p_age::int, properties_rest FROM ${table.replace('events', 'people')}`,
  );
  assert.deepEqual(rows, [{ p_age: 7, properties_rest: { x: null } }]);
  const stored = await exporting.harness.deps.db.row<{ schema_number: number }>(
    sql`SELECT schema_number FROM batch_export_runs WHERE batch_export_id = ${id}`,
  );
  assert.equal(stored!.schema_number, 1);
});
