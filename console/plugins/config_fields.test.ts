import assert from 'node:assert/strict';
import { test } from 'node:test';
import { settingFields, settingsOf } from './config_fields.ts';

test('the fields of both layouts are found, and what is none is left out', () => {
  const keys = (schema: unknown) => settingFields(schema).map(({ key }) => key);
  const cases: [unknown, string[]][] = [
    [null, []],
    ['text', []],
    [[], []],
    [
      [{ key: 'a' }, { markdown: 'Text' }, 5, null, { key: 'b' }],
      ['a', 'b'],
    ],
    [{ b: { order: 2 }, a: { order: 1 }, last: {}, none: 5 }, ['a', 'b', 'last']],
  ];
  for (const [schema, found] of cases) assert.deepEqual(keys(schema), found);
});

test('an empty field goes, an empty secret stays, attachments are not touched', () => {
  const fields = settingFields([
    { key: 'host', default: 5 },
    { key: 'password', secret: true },
    { key: 'file', type: 'attachment' },
  ]);
  assert.equal(fields[0]!.initial, '5');
  const values = { config__host: '', config__password: '', config__file: 'x' };
  assert.deepEqual(settingsOf(fields, values), { host: null });
  assert.deepEqual(settingsOf(fields, { ...values, config__host: 'h', config__password: 'p' }), {
    host: 'h',
    password: 'p',
  });
});
