import assert from 'node:assert/strict';
import { test } from 'node:test';
import { entryWords, faultOf, unchangedOf } from './faults.ts';

const wrong = (attr: string | null, detail: string) =>
  ({ attr, code: 'invalid_input', detail }) as const;

test('a fault stands at its field, at the nearest one around it, or at the form', () => {
  const fields = ['name', 'destination', 'destination__config__bucket'];
  const violations = [
    wrong('name', 'A.'),
    wrong('destination__config__bucket', 'B.'),
    wrong('destination__config__region', 'C.'),
    wrong('destination__type', 'D.'),
    wrong('names', 'E.'),
    wrong(null, 'F.'),
    // One reason for several fields that are not there is told once.
    wrong('other', 'E.'),
  ];
  const told = (field: string | undefined) => faultOf(violations, fields, field);
  assert.equal(told('name'), 'A.');
  assert.equal(told('destination__config__bucket'), 'B.');
  assert.equal(told('destination'), 'C. D.');
  assert.equal(told(undefined), 'E. F.');
  assert.equal(faultOf([], fields, undefined), '');
  const left = unchangedOf(violations, fields, new Set(['name', 'destination', 'names']));
  assert.deepEqual(
    left.map(({ detail }) => detail),
    ['B.', 'E.', 'F.', 'E.'],
  );
});

test('a fault of a field with one entry a line says which one', () => {
  const violations = [
    wrong('ranges__1', 'A.'),
    wrong('ranges__2__value', 'A.'),
    wrong('ranges', 'B.'),
  ];
  const told = faultOf(violations, ['ranges'], 'ranges', entryWords('ranges'));
  assert.equal(told, 'Entry 2: A. Entry 3: A. B.');
  const none = [wrong('ranges', 'Must have at least 1 entry.')];
  const words = faultOf(none, ['ranges'], 'ranges', entryWords('ranges'));
  assert.equal(words, 'Fill in at least one line.');
});
