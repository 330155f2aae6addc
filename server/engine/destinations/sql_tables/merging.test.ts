import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import type { Column } from '../../model/models/column.ts';
import type { Layout } from './layout.ts';
import { mergeWords, newerCondition, nullableKeys, requireFilledKeys } from './merging.ts';

test('the first version that differs decides which row is newer; NULL is the lowest', () => {
  const database = new DatabaseSync(':memory:');
  const values = [null, 1, 2];
  const pairs = values.flatMap((one) => values.map((other) => [one, other] as const));
  const condition = newerCondition(
    { versions: ['v', 'w'] },
    { came: (name) => `came.${name}`, there: (name) => `there.${name}` },
    'came.tie > there.tie',
  );
  const statement = database.prepare(
    `SELECT (${condition}) IS TRUE AS is_newer FROM (SELECT ? AS v, ? AS w, ? AS tie) AS came,
      (SELECT ? AS v, ? AS w, ? AS tie) AS there`,
  );
  const rank = (value: number | null) => value ?? -1;
  for (const [v, w] of pairs)
    for (const [other_v, other_w] of pairs)
      for (const [tie, other_tie] of [
        ['a', 'b'],
        ['b', 'a'],
        ['a', 'a'],
      ] as const) {
        const expected =
          v !== other_v
            ? rank(v) > rank(other_v)
            : w === other_w
              ? tie > other_tie
              : rank(w) > rank(other_w);
        const { is_newer } = statement.get(v, w, tie, other_v, other_w, other_tie) as {
          is_newer: number;
        };
        assert.equal(is_newer === 1, expected, JSON.stringify([v, w, tie, other_v, other_w]));
      }
  database.close();
});

const column = (name: string, type: Column['type'], nullable = false): Column => ({
  name,
  type,
  nullable,
  expression: name,
  is_calculated: true,
});

const orders: Layout = {
  model: 'events',
  columns: [
    column('total', 'float'),
    column('shop', 'text', true),
    column('id', 'integer'),
    column('changed_at', 'timestamp'),
  ],
  merge: { key: ['id', 'shop'], versions: ['changed_at'] },
};

test('an export says key and versions itself, and all else decides between equal versions', () => {
  const words = {
    came: (name: string) => `c.${name}`,
    there: (name: string) => `t.${name}`,
    tie: (names: string[], value: (name: string) => string) => names.map(value).join(' || '),
  };
  const plain = (name: string) => name;
  const merge = mergeWords(orders, words, plain)!;
  assert.deepEqual(
    [merge.key, merge.changed, merge.others, merge.order],
    [['shop', 'id'], ['total', 'changed_at'], ['total'], 'changed_at DESC NULLS LAST, total DESC'],
  );
  assert.match(merge.newer, /AND \(c\.total > t\.total\)\)$/);
  assert.equal(mergeWords({ ...orders, merge: null }, words, plain), undefined);
});

test('a key column that may be null must refuse it in the table', () => {
  assert.deepEqual(nullableKeys(orders), ['shop']);
  const found = orders.columns.map(({ name }) => ({ name, type: 'x' }));
  assert.throws(() => requireFilledKeys('t', orders, found), /merged by \(shop\).*NOT NULL/);
  requireFilledKeys(
    't',
    orders,
    found.map((one) => ({ ...one, takes_no_null: true })),
  );
});
