import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Type } from 'typebox';
import type { TSchema } from 'typebox';
import { nullable } from '../../nullable.ts';
import { listed } from './ignored_header.ts';
import { hasProperty, unknownDetail, unknownNames } from './unknown_names.ts';

const inner = Type.Object({ kept: Type.String() });
const cases: [string, TSchema, unknown, string[]][] = [
  ['known names', inner, { kept: 'x' }, []],
  ['an unknown one', inner, { kept: 'x', other: 1 }, ['other']],
  ['an inner one', Type.Object({ a: inner }), { a: { x: 1 } }, ['a.x']],
  ['one beneath null or an object', Type.Object({ a: nullable(inner) }), { a: { x: 1 } }, ['a.x']],
  [
    'one in a list',
    Type.Object({ a: Type.Array(inner) }),
    { a: [{ kept: 1 }, { x: 1 }] },
    ['a.1.x'],
  ],
  ['one that a branch has', Type.Union([inner, Type.Object({ b: Type.Null() })]), { b: 1 }, []],
  ['any name of free objects', Type.Object({ a: Type.Unknown() }), { a: { x: 1 } }, []],
  ['any name of a record', Type.Record(Type.String(), Type.Unknown()), { x: 1 }, []],
  ['no name where no fields are taken', Type.Object({}), { x: 1 }, ['x']],
  [
    'names of a closed object, which the validator refuses',
    Type.Object({}, { additionalProperties: false }),
    { x: 1 },
    [],
  ],
  [
    'a name by its form',
    Type.Object({}, { patternProperties: { '\\.': {} } }),
    { 'a.b': 1, x: 1 },
    ['x'],
  ],
  ['names that every object has', Type.Object({}), JSON.parse('{"__proto__": 1}'), ['__proto__']],
  ['a value of another kind', inner, [{ x: 1 }], []],
];

for (const [name, schema, value, expected] of cases)
  test(`unknown: ${name}`, () => {
    assert.deepEqual(
      unknownNames(schema, value).map(({ path }) => path.join('.')),
      expected,
    );
  });

test('a hundred names are enough', () => {
  const many = Object.fromEntries(Array.from({ length: 500 }, (_, at) => [`x${at}`, at]));
  assert.equal(unknownNames(inner, many).length, 100);
});

test('a property is found beneath lists and branches', () => {
  const schema = Type.Object({ a: nullable(Type.Array(inner)) });
  assert.deepEqual(
    [['a'], ['a', '3', 'kept'], ['a', 'kept'], ['toString']].map((path) =>
      hasProperty(schema, path),
    ),
    [true, true, false, false],
  );
});

test('the nearest name is suggested', () => {
  assert.match(unknownDetail('parameter', 'statuss', ['limit', 'status']), /mean `status`\?$/);
  assert.match(unknownDetail('field', 'colour', ['limit']), /leave it out, or correct its name/);
});

test('a header takes any name, and not too many', () => {
  assert.equal(listed(['a', 'b__c', 'a']), 'a, b__c');
  assert.equal(listed(['x\r\nset-cookie: y', 'é, f']), 'x%0D%0Aset-cookie%3A%20y, %C3%A9%2C%20f');
  const long = listed(Array.from({ length: 500 }, (_, at) => `name_${at}`));
  assert.ok(long.length <= 1_005 && long.endsWith(', ...'));
});
