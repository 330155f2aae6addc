import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { changesOf, secretChange } from './changes.ts';

type Fields = Record<string, unknown>;

const cases: [
  string,
  Fields | undefined,
  Fields | undefined,
  [string, string, unknown, unknown][],
][] = [
  ['nothing changes', { a: 1, b: [1, { c: 2 }] }, { b: [1, { c: 2 }], a: 1 }, []],
  ['a field changes', { a: 1, b: 2 }, { a: 1, b: 3 }, [['b', 'changed', 2, 3]]],
  ['null is a value', { a: null }, { a: 0 }, [['a', 'changed', null, 0]]],
  [
    'a field comes and one goes',
    { a: 1 },
    { b: 2 },
    [
      ['a', 'deleted', 1, null],
      ['b', 'created', null, 2],
    ],
  ],
  [
    'a record is created',
    undefined,
    { a: 1, b: { c: 2 } },
    [
      ['a', 'created', null, 1],
      ['b.c', 'created', null, 2],
    ],
  ],
  [
    'a name with a dot beside a nested one of the same look',
    { 'a.b': 1, a: { b: 2 } },
    { 'a.b': 3, a: { b: 2 } },
    [['a.b', 'changed', 1, 3]],
  ],
  [
    'a nested field that becomes one with a dot in its name',
    { a: { b: 1 } },
    { 'a.b': 1 },
    [
      ['a.b', 'deleted', 1, null],
      ['a.b', 'created', null, 1],
    ],
  ],
  ['a record is deleted', { a: 1 }, undefined, [['a', 'deleted', 1, null]]],
  [
    'nested fields',
    { a: { b: { c: 1, d: 2 } } },
    { a: { b: { c: 1, d: 3 } } },
    [['a.b.d', 'changed', 2, 3]],
  ],
  ['lists are one value', { a: [1, 2] }, { a: [2, 1] }, [['a', 'changed', [1, 2], [2, 1]]]],
  ['an empty object is a value', { a: {} }, { a: null }, [['a', 'changed', {}, null]]],
  [
    'an object is filled',
    { a: {} },
    { a: { b: 1 } },
    [
      ['a', 'deleted', {}, null],
      ['a.b', 'created', null, 1],
    ],
  ],
];

for (const [name, before, after, expected] of cases) {
  test(name, () => {
    assert.deepEqual(
      changesOf(before, after),
      expected.map(([field, action, old, now]) => ({ field, action, before: old, after: now })),
    );
  });
}

test('fields that are left out are those of the record itself', () => {
  assert.deepEqual(changesOf({ at: 1, in: { at: 1 } }, { at: 2, in: { at: 2 } }, ['at']), [
    { field: 'in.at', action: 'changed', before: 1, after: 2 },
  ]);
});

test('long values are cut, and never through a character', () => {
  const [change] = changesOf({ a: 'x' }, { a: `${'y'.repeat(3_999)}😀` });
  assert.equal((change!.after as string).length, 4_001);
  assert.ok((change!.after as string).isWellFormed());
  const [list] = changesOf({ a: [] }, { a: Array.from({ length: 3_000 }, () => 1) });
  assert.match(list!.after as string, /^\[1,1,.*…$/);
});

test('a secret is masked on both sides', () => {
  assert.deepEqual(
    (['created', 'changed', 'deleted'] as const)
      .map((action) => secretChange('p', action))
      .map(({ before, after }) => [before, after]),
    [
      [null, '********'],
      ['********', '********'],
      ['********', null],
    ],
  );
});

test('a record differs from itself in nothing; changes back are the changes turned round', () => {
  const record = fc.dictionary(
    fc.stringMatching(/^[a-z]{1,3}$/),
    fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<unknown>,
  );
  fc.assert(
    fc.property(record, record, (one, other) => {
      assert.deepEqual(changesOf(one, structuredClone(one)), []);
      const turned = changesOf(other, one).map(({ field, before, after }) => ({
        field,
        before: after,
        after: before,
      }));
      // Whole, since two changes can be shown under one name.
      const byField = (list: { field: string }[]) => list.map((one) => JSON.stringify(one)).sort();
      assert.deepEqual(
        byField(
          changesOf(one, other).map(({ field, before, after }) => ({ field, before, after })),
        ),
        byField(turned),
      );
    }),
    { numRuns: 300 },
  );
});
