// Length: every update and requirement of the specification has its case here.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseExactJson, writeExactJson } from '../../../platform/json/exact_json.ts';
import { applyUpdates } from './apply_updates.ts';
import { newMetadata } from './metadata.ts';
import type { TableMetadata } from './metadata.ts';
import { LakeRefused } from './refusal.ts';
import { checkRequirements } from './requirements.ts';

const now_ms = 1_790_000_000_000;
/** Beyond 2^53: a number would be rounded. */
const long_id = 9_007_199_254_740_993n;
const column = (id: number, name: string, type: unknown = 'string') => ({
  id,
  name,
  type,
  required: false,
});
const schema = { type: 'struct', fields: [column(1, 'uuid'), column(2, 'at', 'timestamptz')] };

function newTable(more: object = {}): TableMetadata {
  return newMetadata({
    table_uuid: '6b0a5a76-1a7f-4f6c-9d0c-3a2f6a0f6b11',
    location: 's3://bucket/lake/t',
    schema,
    now_ms,
    ...more,
  });
}

const snapshotOf = (id: number | bigint, parent: number | bigint | null, sequence: number) => ({
  'snapshot-id': id,
  ...(parent === null ? {} : { 'parent-snapshot-id': parent }),
  'sequence-number': sequence,
  'timestamp-ms': now_ms + sequence,
  'manifest-list': `s3://bucket/lake/t/metadata/snap-${id}.avro`,
  summary: { operation: 'append' },
  'schema-id': 0,
});
const added = (snapshot: object) => ({ action: 'add-snapshot', snapshot });
const mainAt = (id: number | bigint) => ({
  action: 'set-snapshot-ref',
  'ref-name': 'main',
  type: 'branch',
  'snapshot-id': id,
});
const apply = (updates: unknown[], table = newTable(), known: string[] = []) =>
  applyUpdates(
    table,
    updates,
    known.map((id) => ({ id, timestamp_ms: now_ms })),
    now_ms + 1_000,
  );
const refusedAs = (type: string) => (error: unknown) =>
  error instanceof LakeRefused && error.type === type;

test('whole numbers of 63 bits survive reading and writing', () => {
  const text = '{"id":9007199254740993,"least":-9223372036854775808,"at":1.5,"ms":1790000000000}';
  assert.equal(writeExactJson(parseExactJson(text)), text);
  assert.equal((parseExactJson(text) as { id: bigint }).id, long_id);
  assert.throws(() => parseExactJson('{"id":9007199254740993'), SyntaxError);
});

test('a new table has ids from 1, a level before what is inside', () => {
  const nested = {
    type: 'struct',
    fields: [
      column(7, 'tags', {
        type: 'list',
        'element-id': 9,
        element: 'string',
        'element-required': false,
      }),
      column(0, 'uuid'),
      column(5, 'place', { type: 'struct', fields: [column(6, 'city')] }),
    ],
    'identifier-field-ids': [0],
  };
  const table = newTable({
    schema: nested,
    partition_spec: { fields: [{ 'source-id': 0, transform: 'bucket[16]', name: 'uuid_bucket' }] },
    write_order: {
      'order-id': 7,
      fields: [
        { 'source-id': 6, transform: 'identity', direction: 'asc', 'null-order': 'nulls-first' },
      ],
    },
    properties: { owner: 'etl', 'format-version': '2' },
  });
  const [first] = table.schemas;
  assert.deepEqual(
    first!.fields.map(({ id, name }) => [name, id]),
    [
      ['tags', 1],
      ['uuid', 2],
      ['place', 3],
    ],
  );
  assert.equal((first!.fields[0]!['type'] as { 'element-id': number })['element-id'], 4);
  assert.deepEqual(first!['identifier-field-ids'], [2]);
  assert.deepEqual(table['partition-specs'], [
    {
      'spec-id': 0,
      fields: [{ 'source-id': 2, 'field-id': 1000, transform: 'bucket[16]', name: 'uuid_bucket' }],
    },
  ]);
  assert.equal(table['sort-orders'][0]!.fields[0]!['source-id'], 5);
  assert.deepEqual(
    [table['default-sort-order-id'], table['last-column-id'], table['last-partition-id']],
    [1, 5, 1000],
  );
  assert.deepEqual(table.properties, { owner: 'etl' });
});

test('a schema that no reader takes is refused', () => {
  const cases: [string, object][] = [
    ['an id twice', { fields: [column(1, 'a'), column(1, 'b')] }],
    ['a name twice', { fields: [column(1, 'a'), column(2, 'a')] }],
    ['an unknown type', { fields: [column(1, 'a', 'text')] }],
    ['no fields', {}],
    ['a reserved id', { fields: [column(2_147_483_600, 'a')] }],
    ['an identifier that is no field', { fields: [column(1, 'a')], 'identifier-field-ids': [2] }],
  ];
  for (const [name, fields] of cases)
    assert.throws(
      () => newTable({ schema: { type: 'struct', ...fields } }),
      refusedAs('BadRequestException'),
      name,
    );
});

test('an append adds a snapshot, moves main and notes it', () => {
  const draft = apply([added(snapshotOf(long_id, null, 1)), mainAt(long_id)]);
  assert.equal(draft.table['current-snapshot-id'], long_id);
  assert.deepEqual(draft.table.refs['main'], { 'snapshot-id': long_id, type: 'branch' });
  assert.equal(draft.table['last-sequence-number'], 1);
  assert.deepEqual(draft.logged, [{ id: String(long_id), timestamp_ms: now_ms + 1 }]);
  assert.deepEqual([...draft.added.keys()], [String(long_id)]);
});

test('a snapshot that never was the current one leaves no entry in the log', () => {
  const draft = apply([
    added(snapshotOf(1, null, 1)),
    mainAt(1),
    added(snapshotOf(2, 1, 2)),
    mainAt(2),
  ]);
  assert.deepEqual(
    draft.logged.map(({ id }) => id),
    ['2'],
  );
});

test('a rollback to a stored snapshot is noted with the time of the commit', () => {
  const { table } = apply([added(snapshotOf(1, null, 1)), mainAt(1)]);
  const rolled = apply([mainAt(5)], table, ['5']);
  assert.deepEqual(rolled.logged, [{ id: '5', timestamp_ms: now_ms + 1_000 }]);
});

test('removed snapshots take their refs and statistics along', () => {
  const statistics = { 'snapshot-id': 1, 'statistics-path': 's3://bucket/lake/t/1.puffin' };
  const { table } = apply([
    added(snapshotOf(1, null, 1)),
    mainAt(1),
    { action: 'set-snapshot-ref', 'ref-name': 'kept', type: 'tag', 'snapshot-id': 1 },
    { action: 'set-statistics', statistics },
  ]);
  assert.deepEqual(table.statistics, [statistics]);
  const draft = apply([{ action: 'remove-snapshots', 'snapshot-ids': [1, 3] }], table, ['1']);
  assert.deepEqual([...draft.removed], ['1']);
  assert.deepEqual(draft.table.refs, {});
  assert.equal(draft.table['current-snapshot-id'], undefined);
  assert.equal(draft.table.statistics, undefined);
});

test('schemas, specs and orders get ids, and equal ones keep theirs', () => {
  const wider = { ...schema, fields: [...schema.fields, column(3, 'plan')] };
  const order = {
    fields: [{ 'source-id': 2, transform: 'day', direction: 'desc', 'null-order': 'nulls-last' }],
  };
  const day = { fields: [{ 'source-id': 2, transform: 'day', name: 'at_day' }] };
  const { table } = apply([
    { action: 'add-schema', schema: wider, 'last-column-id': 3 },
    { action: 'set-current-schema', 'schema-id': -1 },
    { action: 'add-spec', spec: day },
    { action: 'set-default-spec', 'spec-id': -1 },
    { action: 'add-sort-order', 'sort-order': order },
    { action: 'set-default-sort-order', 'sort-order-id': -1 },
  ]);
  assert.deepEqual(
    [table['current-schema-id'], table['last-column-id'], table['default-spec-id']],
    [1, 3, 1],
  );
  assert.deepEqual([table['default-sort-order-id'], table['last-partition-id']], [1, 1000]);
  const again = apply(
    [
      { action: 'add-schema', schema },
      { action: 'set-current-schema', 'schema-id': -1 },
      { action: 'add-spec', spec: day },
    ],
    table,
  ).table;
  assert.equal(again['current-schema-id'], 0);
  assert.equal(again['last-column-id'], 3);
  assert.deepEqual(again['partition-specs'], table['partition-specs']);
});

test('a partition field that comes back has the id that it had', () => {
  const bucket = { 'source-id': 1, transform: 'bucket[4]', name: 'b' };
  const day = { 'source-id': 2, transform: 'day', name: 'd' };
  const { table } = apply([
    { action: 'add-spec', spec: { fields: [bucket] } },
    { action: 'add-spec', spec: { fields: [day, bucket] } },
  ]);
  assert.deepEqual(
    table['partition-specs'].map(({ fields }) => fields.map((field) => field['field-id'])),
    [[], [1000], [1001, 1000]],
  );
});

test('each update of the table changes what it says', () => {
  const { table } = apply([
    { action: 'assign-uuid', uuid: newTable()['table-uuid'].toUpperCase() },
    { action: 'upgrade-format-version', 'format-version': 3 },
    { action: 'set-location', location: 's3://bucket/other/' },
    { action: 'set-properties', updates: { a: '1', b: '2' } },
    { action: 'remove-properties', removals: ['a', 'none'] },
  ]);
  assert.equal(table['format-version'], 3);
  assert.equal(table['next-row-id'], 0);
  assert.equal(table.location, 's3://bucket/other');
  assert.deepEqual(table.properties, { b: '2' });
});

test('format version 3 counts the rows', () => {
  const three = newTable({ properties: { 'format-version': '3' } });
  const rows = (id: number, first: number) => ({
    ...snapshotOf(id, null, id),
    'first-row-id': first,
    'added-rows': 10,
  });
  const { table } = apply([added(rows(1, 0)), added(rows(2, 10))], three);
  assert.equal(table['next-row-id'], 20);
  // A writer of an older state rebases; ids that the table has not come to yet are nobody's.
  assert.throws(() => apply([added(rows(3, 5))], table), refusedAs('CommitFailedException'));
  assert.throws(() => apply([added(rows(3, 25))], table), refusedAs('BadRequestException'));
  const less = { ...rows(3, 20), 'added-rows': -1 };
  assert.throws(() => apply([added(less)], table), refusedAs('BadRequestException'));
});

test('updates that do not fit are refused', () => {
  const { table } = apply([added(snapshotOf(1, null, 5)), mainAt(1)]);
  const cases: [string, unknown, string][] = [
    ['an unknown action', { action: 'add-view-version' }, 'BadRequestException'],
    ['a name of every object', { action: 'constructor' }, 'BadRequestException'],
    ['no object', 'add-snapshot', 'BadRequestException'],
    ['a snapshot twice', added(snapshotOf(1, null, 6)), 'BadRequestException'],
    ['a ref to nothing', mainAt(9), 'BadRequestException'],
    ['an older sequence', added(snapshotOf(2, 1, 5)), 'CommitFailedException'],
    ['an id that is rounded', mainAt(Number(long_id) * 4), 'BadRequestException'],
    ['a uuid of another table', { action: 'assign-uuid', uuid: 'x' }, 'BadRequestException'],
    [
      'a format version back',
      { action: 'upgrade-format-version', 'format-version': 1 },
      'BadRequestException',
    ],
    [
      'a format version of the future',
      { action: 'upgrade-format-version', 'format-version': 4 },
      'BadRequestException',
    ],
    ['no schema added', { action: 'set-current-schema', 'schema-id': -1 }, 'BadRequestException'],
    [
      'the current schema removed',
      { action: 'remove-schemas', 'schema-ids': [0] },
      'BadRequestException',
    ],
    [
      'a property that is no text',
      { action: 'set-properties', updates: { a: 1 } },
      'BadRequestException',
    ],
    ['main as a tag', { ...mainAt(1), type: 'tag' }, 'BadRequestException'],
  ];
  for (const [name, update, type] of cases)
    assert.throws(() => apply([update], table, ['1']), refusedAs(type), name);
});

test('requirements hold, or the commit is refused and nothing of it applied', () => {
  const { table } = apply([added(snapshotOf(long_id, null, 1)), mainAt(long_id)]);
  const held = [
    { type: 'assert-table-uuid', uuid: table['table-uuid'] },
    { type: 'assert-ref-snapshot-id', ref: 'main', 'snapshot-id': long_id },
    { type: 'assert-ref-snapshot-id', ref: 'audit', 'snapshot-id': null },
    { type: 'assert-last-assigned-field-id', 'last-assigned-field-id': 2 },
    { type: 'assert-current-schema-id', 'current-schema-id': 0 },
    { type: 'assert-last-assigned-partition-id', 'last-assigned-partition-id': 999 },
    { type: 'assert-default-spec-id', 'default-spec-id': 0 },
    { type: 'assert-default-sort-order-id', 'default-sort-order-id': 0 },
  ];
  checkRequirements(held, table);
  const broken: [object, string][] = [
    [{ type: 'assert-create' }, 'CommitFailedException'],
    [{ type: 'assert-table-uuid', uuid: 'other' }, 'CommitFailedException'],
    // It differs by one, which a rounded number would not show.
    [{ ...held[1], 'snapshot-id': long_id - 1n }, 'CommitFailedException'],
    [{ ...held[1], 'snapshot-id': null }, 'CommitFailedException'],
    [{ ...held[3], 'last-assigned-field-id': 1 }, 'CommitFailedException'],
    [{ ...held[4], 'current-schema-id': 1 }, 'CommitFailedException'],
    [{ ...held[5], 'last-assigned-partition-id': 1000 }, 'CommitFailedException'],
    [{ ...held[6], 'default-spec-id': 1 }, 'CommitFailedException'],
    [{ ...held[7], 'default-sort-order-id': 1 }, 'CommitFailedException'],
    [{ type: 'assert-view-uuid', uuid: 'x' }, 'BadRequestException'],
    [{}, 'BadRequestException'],
  ];
  for (const [requirement, type] of broken)
    assert.throws(
      () => checkRequirements([...held, requirement], table),
      refusedAs(type),
      JSON.stringify(requirement, (_, value: unknown) => (typeof value === 'bigint' ? 'n' : value)),
    );
  // An unknown requirement is told before one that fails.
  assert.throws(
    () => checkRequirements([{ type: 'assert-create' }, { type: 'assert-moon' }], table),
    refusedAs('BadRequestException'),
  );
});
