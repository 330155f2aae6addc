import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aroundTests } from '../../../test/around_tests.ts';
import { openQueryHarness } from '../../../test/factories/batch_exports/query_exports.ts';
import type { TestOrganization } from '../../../test/harness.ts';
import { openPostgresServer } from '../../../test/servers/databases/postgres_destination.ts';
import { verifyExports } from '../../engine/exports/verification/verify_exports.ts';
import { addColumns } from '../../engine/model/schema/store.ts';
import type { TypedProperty } from '../../engine/model/schema/store.ts';

const exporting = aroundTests(openQueryHarness);
const postgres = aroundTests(openPostgresServer);

const call = (hour: number, key: string, set: object) => ({
  event: '$groupidentify',
  at: `2026-01-01T0${hour}:10:00Z`,
  properties: { $group_type: 'company', $group_key: key, $group_set: set },
});

async function add(home: TestOrganization, property: string, type: TypedProperty['type']) {
  await exporting.harness.deps.db.transaction((tx) =>
    addColumns(tx, home.project.id, [{ source: 'group', property, type }], null),
  );
}

async function withSchema(): Promise<TestOrganization> {
  const home = await exporting.harness.newOrganization();
  await exporting.insert(home, [
    call(0, 'acme', { plan: 'free', seats: 3 }),
    call(0, 'globex', { plan: 'free', seats: 'many' }),
    call(1, 'acme', { plan: 'pro', region: 'eu' }),
    call(2, 'globex', { seats: 9, region: null }),
  ]);
  await add(home, 'plan', 'text');
  await add(home, 'seats', 'integer');
  // Columns of other sources are none of groups.
  await exporting.harness.deps.db.transaction((tx) =>
    addColumns(tx, home.project.id, [{ source: 'event', property: 'x', type: 'text' }], null),
  );
  return home;
}

async function proven(id: string): Promise<void> {
  const [finding] = await verifyExports(exporting.harness.deps.engine, id);
  assert.deepEqual([finding!.fault, finding!.differences], [null, []]);
}

test('properties of groups are columns of a table, which gets more of them', async () => {
  const home = await withSchema();
  const config = { ...(await postgres.freshConfig()), table_name: 'companies' };
  const made = await exporting.scheduled(
    home,
    { model: 'groups', destination: { type: 'Postgres', config }, columns: 'typed' },
    1,
  );
  const rows = async (columns: string) =>
    (
      await postgres.pool.query({
        text: `SELECT ${columns} FROM ${config.schema}.companies ORDER BY group_key`,
        rowMode: 'array',
      })
    ).rows;
  await exporting.runAll(made.id);
  assert.deepEqual(await rows('group_id, p_plan, p_seats::int, properties_rest'), [
    ['company:acme', 'free', 3, {}],
    ['company:globex', 'free', null, { seats: 'many' }],
  ]);
  await add(home, 'region', 'text');
  await exporting.extend(made.id, 3);
  const runs = await exporting.runAll(made.id);
  assert.deepEqual(
    runs.map(({ latest_error }) => latest_error),
    [null, null, null],
  );
  assert.deepEqual(await rows('group_id, p_plan, p_seats::int, p_region, properties_rest'), [
    ['company:acme', 'pro', 3, 'eu', {}],
    ['company:globex', 'free', 9, null, { region: null }],
  ]);
  const { results } = (await made.get('runs/?ordering=data_interval_start')).body;
  assert.deepEqual(
    results.map((run: any) => [run.schema_number, run.values_unfit]),
    [
      [3, 1],
      [4, 0],
      [4, 0],
    ],
  );
  await proven(made.id);
  const { body } = await made.send('POST', 'preview/', {});
  assert.deepEqual(body.columns.slice(-3), ['p_plan', 'p_seats', 'p_region']);
  const { body: tested } = await made.send('POST', 'test/', {});
  assert.deepEqual(
    [...new Set(tested.steps.map(({ status }: { status: string }) => status))],
    ['passed'],
  );
  const { body: found } = await home.ask(
    'GET',
    `/api/projects/${home.project.id}/find/?group_id=company:acme`,
  );
  const states = found.records.flatMap(({ exports }: { exports: { state: string }[] }) => exports);
  assert.deepEqual(
    states.map(({ state }: { state: string }) => state),
    ['delivered', 'delivered'],
  );
});

test('a schema of groups that waits says what it adds', async () => {
  const home = await withSchema();
  const destination = { type: 'NoOp', config: {} };
  const fields = { model: 'groups', destination, columns: 'typed', new_columns: 'wait' };
  const { get, send } = await exporting.scheduled(home, fields, 1);
  await add(home, 'region', 'text');
  const { waiting_schema } = (await get('')).body;
  const added = [{ property: 'region', type: 'text', column: 'p_region' }];
  assert.deepEqual(waiting_schema, { schema_number: 4, added, removed: [] });
  const { body } = await send('PATCH', '', { schema_number: 4 });
  assert.deepEqual([body.schema_number, body.waiting_schema], [4, null]);
});

const merged = { mode: 'merge', primary_key: ['group_id'], version_key: ['group_version'] };
const lakes: [name: string, type: string, config: object, rule: object][] = [
  ['Iceberg', 'Iceberg', { table: 'companies' }, {}],
  ['Iceberg, merged', 'Iceberg', { table: 'merged' }, merged],
  ['Delta', 'Delta', { table: 'companies' }, {}],
  ['Delta, merged', 'Delta', { table: 'merged' }, merged],
];

for (const [name, type, config, rule] of lakes)
  test(`groups have typed columns in the lake: ${name}`, async () => {
    const home = await withSchema();
    const destination = { type, config: { storage: 'File', ...config } };
    const fields = { model: 'groups', destination, columns: 'typed', ...rule };
    const made = await exporting.scheduled(home, fields, 1);
    await exporting.runAll(made.id);
    await add(home, 'region', 'text');
    await exporting.extend(made.id, 3);
    const runs = await exporting.runAll(made.id);
    assert.deepEqual(
      runs.map(({ latest_error, records_completed }) => [latest_error, records_completed]),
      [
        [null, 2],
        [null, 1],
        [null, 1],
      ],
    );
    await proven(made.id);
  });
