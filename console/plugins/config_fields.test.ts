import assert from 'node:assert/strict';
import { test } from 'node:test';
import { askedFields, settingFields, settingsOf } from './config_fields.ts';

test('the fields of both layouts are found, other entries are left out', () => {
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

test('an empty field goes, an empty secret stays, files are sent once chosen', () => {
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
  const file = { file_name: 'a.csv', content_type: 'text/csv', contents: 'eA==' };
  assert.deepEqual(settingsOf(fields, {}, { file, other: file }), { file });
  assert.deepEqual(settingsOf(fields, {}, { file: null }), { file: null });
});

test('a field is asked for, and required, when its conditions hold', () => {
  const fields = settingFields([
    { key: 'mode', default: 'plain' },
    { key: 'key', visible_if: [['mode', 'signed']], required: true },
    { key: 'note', required_if: [['key'], ['mode', 'signed']] },
    { key: 'count', visible_if: [['many', true]] },
    { key: 'odd', visible_if: 'mode' },
  ]);
  const asked = (values: Record<string, string>) =>
    askedFields(fields, (key) => values[key]).map(
      ({ key, is_required }) => `${key}${is_required ? '!' : ''}`,
    );
  assert.deepEqual(asked({}), ['mode', 'note', 'odd']);
  assert.deepEqual(asked({ mode: 'signed' }), ['mode', 'key!', 'note', 'odd']);
  assert.deepEqual(asked({ mode: 'signed', key: 'k' }), ['mode', 'key!', 'note!', 'odd']);
  assert.deepEqual(asked({ many: 'true' }), ['mode', 'note', 'count', 'odd']);
});
