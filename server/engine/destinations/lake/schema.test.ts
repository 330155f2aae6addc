import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Column } from '../../model/models/column.ts';
import { fieldIds, fitSchema, nameMapping, newSchema } from './schema.ts';

const columns: Pick<Column, 'name' | 'type'>[] = [
  { name: 'uuid', type: 'uuid' },
  { name: 'timestamp', type: 'timestamp' },
];

test('a new schema counts from 1, and every field may be null', () => {
  const schema = newSchema(columns);
  assert.deepEqual(schema.fields, [
    { id: 1, name: 'uuid', required: false, type: 'string' },
    { id: 2, name: 'timestamp', required: false, type: 'timestamptz' },
  ]);
  assert.equal(
    nameMapping(schema),
    '[{"field-id":1,"names":["uuid"]},{"field-id":2,"names":["timestamp"]}]',
  );
});

test('missing columns get ids that the table has never used', () => {
  const schema = newSchema(columns);
  assert.deepEqual(fitSchema(schema, columns, 9), { schema, last_column_id: 9 });
  const wider = fitSchema(schema, [...columns, { name: 'plan', type: 'text' }], 9);
  assert.ok('schema' in wider);
  assert.equal(wider.last_column_id, 10);
  assert.deepEqual(
    [...fieldIds(wider.schema)],
    [
      ['uuid', 1],
      ['timestamp', 2],
      ['plan', 10],
    ],
  );
  // A narrower export leaves the table's other columns null.
  assert.deepEqual(fitSchema(schema, columns.slice(0, 1), 2), { schema, last_column_id: 2 });
});

test('a column of another type does not fit, nor one that differs in case alone', () => {
  const schema = newSchema(columns);
  assert.deepEqual(fitSchema(schema, [{ name: 'timestamp', type: 'integer' }], 2), {
    fault:
      'The column "timestamp" of the table has the type timestamptz, and the export delivers long.',
  });
  assert.deepEqual(fitSchema(schema, [{ name: 'UUID', type: 'uuid' }], 2), {
    fault: '"UUID" and "uuid" differ only in upper and lower case.',
  });
});

test('narrower numbers of another writer are widened, and wider ones do not fit', () => {
  const table = (type: string) => ({
    type: 'struct' as const,
    'schema-id': 0,
    fields: [{ id: 1, name: 'total', required: false, type }],
  });
  for (const [from, column, to] of [
    ['int', 'integer', 'long'],
    ['float', 'float', 'double'],
    ['decimal(12, 9)', 'decimal', 'decimal(38, 9)'],
  ] as const) {
    const fitting = fitSchema(table(from), [{ name: 'total', type: column }], 1);
    assert.ok('schema' in fitting);
    assert.deepEqual(fitting.schema.fields, [{ ...table(to).fields[0] }]);
  }
  for (const [from, column] of [
    ['double', 'integer'],
    ['int', 'float'],
    ['decimal(38, 10)', 'decimal'],
    ['string', 'boolean'],
  ] as const)
    assert.ok('fault' in fitSchema(table(from), [{ name: 'total', type: column }], 1), from);
});
