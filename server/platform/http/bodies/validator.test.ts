import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { Ajv } from 'ajv';
import { Type } from 'typebox';
import type { TSchema } from 'typebox';
import { ApiError } from '../errors.ts';
import type { Violation } from '../errors.ts';
import { nullable } from '../../nullable.ts';
import { isInstant } from '../../instant.ts';
import { lineOfText } from '../../line_of_text.ts';
import { checked } from './validator.ts';

function violations(schema: TSchema, value: unknown): Pick<Violation, 'attr' | 'code'>[] {
  try {
    checked(schema, value);
  } catch (error) {
    assert.ok(error instanceof ApiError);
    assert.equal(error.status, 400);
    return error.violations.map(({ attr, code }) => ({ attr, code }));
  }
  return [];
}

const Thing = Type.Object({
  name: Type.String({ trim: true, minLength: 1, maxLength: 5 }),
  size: Type.Optional(Type.Integer({ minimum: 1, maximum: 10 })),
  flag: Type.Optional(Type.Boolean()),
  mode: Type.Optional(Type.Enum(['a', 'b'])),
  kind: Type.Optional(Type.Union([Type.Literal('x'), Type.Literal('y')])),
  note: Type.Optional(nullable(Type.String({ maxLength: 3 }))),
  level: Type.Optional(nullable(Type.Enum([1, 8]))),
  at: Type.Optional(Type.String({ format: 'date-time' })),
  mail: Type.Optional(Type.String({ format: 'email' })),
  tags: Type.Optional(
    Type.Array(Type.String({ minLength: 1 }), { minItems: 1, maxItems: 2, uniqueItems: true }),
  ),
  inner: Type.Optional(
    Type.Object({
      config: Type.Object({ bucket_name: Type.String() }, { additionalProperties: false }),
    }),
  ),
  line: Type.Optional(lineOfText(100, undefined, 0)),
  short: Type.Optional(Type.String({ format: 'email', maxLength: 20 })),
  either: Type.Optional(Type.Union([Type.String(), Type.Integer()])),
});

const cases: [string, object, string | null, string][] = [
  ['missing', { name: undefined }, 'name', 'required'],
  ['null', { name: null }, 'name', 'null'],
  ['blank', { name: '' }, 'name', 'blank'],
  ['only white space', { name: ' \t\u00a0 ' }, 'name', 'blank'],
  ['nothing that shows', { name: '\u200b \u2060\u3164' }, 'name', 'blank'],
  ['too long', { name: '123456' }, 'name', 'max_length'],
  ['a number for text', { name: 5 }, 'name', 'invalid_input'],
  ['text for a number', { size: '5' }, 'size', 'invalid_input'],
  ['a fraction', { size: 1.5 }, 'size', 'invalid_input'],
  ['too small', { size: 0 }, 'size', 'min_value'],
  ['too large', { size: 11 }, 'size', 'max_value'],
  ['text for a boolean', { flag: 'yes' }, 'flag', 'invalid_input'],
  ['1 for a boolean', { flag: 1 }, 'flag', 'invalid_input'],
  ['another choice', { mode: 'c' }, 'mode', 'invalid_choice'],
  ['another literal', { kind: 'z' }, 'kind', 'invalid_choice'],
  ['too long beside null', { note: '1234' }, 'note', 'max_length'],
  ['wrong type beside null', { note: 1 }, 'note', 'invalid_input'],
  ['another choice beside null', { level: 2 }, 'level', 'invalid_choice'],
  ['no zone', { at: '2026-01-01T00:00:00' }, 'at', 'invalid_input'],
  ['no address', { mail: 'a@b' }, 'mail', 'invalid_input'],
  ['no address at all', { mail: '' }, 'mail', 'blank'],
  ['an address that is too long', { short: `${'x'.repeat(20)}@b.` }, 'short', 'max_length'],
  ['two lines', { line: 'a\nb' }, 'line', 'invalid_input'],
  ['a mark of direction', { line: 'a\u202eb' }, 'line', 'invalid_input'],
  ['a mark of direction that shows nothing', { line: 'a\u200fb' }, 'line', 'invalid_input'],
  ['no list', { tags: 'a' }, 'tags', 'not_a_list'],
  ['empty list', { tags: [] }, 'tags', 'min_items'],
  ['long list', { tags: ['a', 'b', 'c'] }, 'tags', 'max_items'],
  ['the same entry twice', { tags: ['a', 'a'] }, 'tags', 'unique'],
  ['wrong entry', { tags: ['a', 1] }, 'tags__1', 'invalid_input'],
  ['missing inside', { inner: { config: {} } }, 'inner__config__bucket_name', 'required'],
  [
    'unknown inside',
    { inner: { config: { bucket_name: 'x', other: 1 } } },
    'inner__config__other',
    'unknown_field',
  ],
  ['a list for an object', { inner: [] }, 'inner', 'invalid_input'],
  ['none of two types', { either: true }, 'either', 'invalid_input'],
];
for (const [name, fields, attr, code] of cases) {
  test(`${name} is ${code} at ${attr}`, () =>
    assert.deepEqual(violations(Thing, JSON.parse(JSON.stringify({ name: 'right', ...fields }))), [
      { attr, code },
    ]));
}

test('every violation is listed, in the order of the schema', () => {
  assert.deepEqual(
    violations(Thing, { name: '', size: 'x', flag: 0, mode: 'z' }).map((entry) => entry.attr),
    ['name', 'size', 'flag', 'mode'],
  );
});

const word = (character: string) => `a${character}b@b.co`;
test('addresses are dot-separated words at a domain, in any script', () => {
  const right = [
    'a@b.co',
    'a.b+c_d@x-1.b.co',
    "o'neil@b.co",
    'jürgen@müller.example',
    '用户@例子.公司',
    'δ.ω@παράδειγμα.ελ',
    'a@xn--bcher-kva.example',
    `${'x'.repeat(64)}@b.co`,
  ];
  for (const mail of right) assert.deepEqual(violations(Thing, { name: 'a', mail }), [], mail);
  const wrong = [
    'a@b..c',
    'a@-b.co',
    'a@b-.co',
    '.a@b.co',
    'a..b@b.co',
    'a.@b.co',
    'a@b.co.',
    'a@.b.co',
    'a@b',
    '@b.co',
    'a@b@b.co',
    `${'x'.repeat(65)}@b.co`,
  ];
  for (const mail of [
    ...wrong,
    ...['\u202e', '\u200b', '\u00ad', '\u0007', '\n', '\u00a0', ' ', '"', ','].map(word),
  ])
    assert.deepEqual(
      violations(Thing, { name: 'a', mail }),
      [{ attr: 'mail', code: 'invalid_input' }],
      JSON.stringify(mail),
    );
});

test('an earlier violation comes first and alone for its field; a line has any letters', () => {
  const found: Violation[] = [{ attr: 'mail', code: 'null_characters_not_allowed', detail: 'x' }];
  const attrs = (value: unknown) => {
    try {
      checked(Thing, value, '', found);
    } catch (error) {
      return (error as ApiError).violations.map(({ attr, code }) => `${attr} ${code}`);
    }
    return [];
  };
  assert.deepEqual(attrs({ name: 'a', mail: 'x' }), ['mail null_characters_not_allowed']);
  assert.deepEqual(attrs({ name: '', mail: 'x' }), [
    'mail null_characters_not_allowed',
    'name blank',
  ]);
  assert.equal(checked(Thing, { name: 'a', line: '\n Zoë 👩‍💻 ' }).line, 'Zoë 👩‍💻');
});

test('a valid body is trimmed and stripped; absent fields stay absent, null stays null', () => {
  const value = checked(
    Thing,
    JSON.parse('{"name":"  ab  ","note":null,"level":null,"unknown":1,"__proto__":{"size":3}}'),
  );
  assert.deepEqual(value, { name: 'ab', note: null, level: null });
  assert.equal((value as { size?: number }).size, undefined);
  assert.equal(
    checked(Type.Object({ name: Type.String({ maxLength: 1 }) }), { name: '😀' }).name,
    '😀',
  );
});

test('instants need a zone and a day that exists', () => {
  for (const right of [
    '2026-01-31T12:00:00Z',
    '2024-02-29t00:00:00.123456z',
    '2026-01-01 00:00:00+02:00',
    '9999-12-31T23:59:59.998Z',
  ])
    assert.ok(isInstant(right), right);
  for (const wrong of [
    '2026-02-29T00:00:00Z',
    '2026-13-01T00:00:00Z',
    '2026-01-01',
    '2026-01-01T24:00:00Z',
    '2026-01-01T00:00:00',
    '0000-01-01T00:00:00Z',
    '+012026-01-01T00:00:00Z',
    '2026-01-01T00:00:60Z',
    ' 2026-01-01T00:00:00Z',
    '9999-12-31T23:59:59.999999999Z',
  ])
    assert.ok(!isInstant(wrong), wrong);
});

test('a schema that is created for each value is compiled once', () => {
  const compile = mock.method(Ajv.prototype, 'compile');
  const fresh = () =>
    Type.Object({ made_anew: Type.Optional(Type.Array(Type.String({ maxLength: 7 }))) });
  for (let count = 0; count < 3; count += 1)
    assert.deepEqual(checked(fresh(), { made_anew: ['x'] }), { made_anew: ['x'] });
  assert.deepEqual(violations(fresh(), { made_anew: ['too long'] }), [
    { attr: 'made_anew__0', code: 'max_length' },
  ]);
  assert.equal(compile.mock.callCount(), 1);
  compile.mock.restore();
});
