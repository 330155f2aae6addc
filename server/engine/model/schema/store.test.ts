import assert from 'node:assert/strict';
import { test } from 'node:test';
import { shareHarness } from '../../../../test/harness.ts';
import { columnName } from './column_name.ts';
import { widens } from './property_type.ts';
import { addColumns, listSchema, planColumns, removeColumns, schema_columns_max } from './store.ts';
import type { TypedProperty } from './store.ts';
import { findColumnsAt } from './run_columns.ts';

const harness = shareHarness({ clickhouse: false });

const event = (property: string, type: TypedProperty['type'] = 'text'): TypedProperty => ({
  source: 'event',
  property,
  type,
});

test('the name of a column is that of the property in snake case', () => {
  const cases: [property: string, column: string][] = [
    ['plan', 'p_plan'],
    ['$browser_version', 'p_browser_version'],
    ['userId', 'p_user_id'],
    ['User ID', 'p_user_id'],
    ['HTTPStatusCode', 'p_http_status_code'],
    ['order', 'p_order'],
    ['uuid', 'p_uuid'],
    ['item.price (EUR)', 'p_item_price_eur'],
    ['Café', 'p_cafe'],
    ['größe', 'p_gro_e_8a66b2ed'],
    ['価格', 'p_71b8a3c1'],
    ['', 'p_e3b0c442'],
    ['$', 'p_09fc9608'],
    ['x'.repeat(61), `p_${'x'.repeat(61)}`],
  ];
  for (const [property, column] of cases) {
    const found = columnName(property, 'text', []);
    if (/_[0-9a-f]{8}$/.test(column)) assert.match(found, /^p_[a-z_]*[0-9a-f]{8}$/, property);
    else assert.equal(found, column);
  }
  const long = columnName('x'.repeat(62), 'text', []);
  assert.match(long, /^p_x{52}_[0-9a-f]{8}$/);
  assert.equal(long.length, 63);
  const other = columnName(`${'x'.repeat(61)}y`, 'timestamp', [{ property: 'a', column: long }]);
  assert.ok(other.length <= 63 && other !== long, other);
});

test('only a wider type takes what another one takes', () => {
  assert.deepEqual(
    [widens('integer', 'float'), widens('float', 'integer'), widens('boolean', 'integer')],
    [true, false, false],
  );
});

test('a column keeps its name and its type, whatever becomes of its property', async () => {
  const { project } = await harness.newOrganization();
  const { db } = harness.deps;
  const add = (...wanted: TypedProperty[]) =>
    db.transaction((tx) => addColumns(tx, project.id, wanted, null));
  const remove = (column: string) =>
    db.transaction((tx) => removeColumns(tx, project.id, [{ source: 'event', column }]));
  assert.deepEqual(await listSchema(db, project.id), { schema_number: 0, columns: [] });
  const first = await add(event('userId'), event('user_id', 'integer'), event('User ID'));
  assert.deepEqual(
    [first.schema_number, first.columns.map(({ column, namesakes }) => [column, namesakes])],
    [
      1,
      [
        ['p_user_id', []],
        ['p_user_id_2', ['userId']],
        ['p_user_id_3', ['userId', 'user_id']],
      ],
    ],
  );
  assert.equal((await add(event('userId'))).schema_number, 1);
  assert.equal(await remove('p_user_id'), 2);
  assert.equal(await remove('p_user_id'), 2);
  const second = await add(event('userId', 'json'), { ...event('userId'), source: 'person' });
  assert.deepEqual(
    second.columns.map(({ column }) => column),
    ['p_user_id_json', 'p_user_id'],
  );
  const third = await add(event('userId'), event('userId'));
  assert.deepEqual([third.schema_number, third.columns[0]!.column], [4, 'p_user_id']);
  const { columns } = await listSchema(db, project.id);
  assert.deepEqual(
    columns.map(({ source, column, is_filled, added_in }) => [source, column, is_filled, added_in]),
    [
      ['event', 'p_user_id', true, 1],
      ['event', 'p_user_id_2', true, 1],
      ['event', 'p_user_id_3', true, 1],
      ['event', 'p_user_id_json', true, 3],
      ['person', 'p_user_id', true, 3],
    ],
  );
  const at = await findColumnsAt(db, { team_id: project.id, model: 'events' }, [0, 1, 2, 3, 4]);
  assert.deepEqual(
    [0, 1, 2, 3, 4].map((number) => at.get(number)!.map(({ column }) => column.slice(2))),
    [
      [],
      ['user_id', 'user_id_2', 'user_id_3'],
      ['user_id_2', 'user_id_3'],
      ['user_id_2', 'user_id_3', 'user_id_json'],
      ['user_id', 'user_id_2', 'user_id_3', 'user_id_json'],
    ],
  );
});

test('a source has so many columns at most, and says which ones have no place', () => {
  const wanted = Array.from({ length: schema_columns_max + 1 }, (_, number) =>
    event(`n ${number}`),
  );
  const planned = planColumns({ schema_number: 0, columns: [] }, wanted);
  assert.deepEqual(
    planned.filter(({ column }) => column === undefined).map(({ property }) => property),
    [`n ${schema_columns_max}`],
  );
});
