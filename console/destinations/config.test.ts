import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DestinationType } from '../../server/api/destinations/schema.ts';
import {
  choicesOf,
  configToSend,
  hintOf,
  isShown,
  kindOf,
  leadsElsewhere,
  mustBeFilled,
  secretHint,
  shownValue,
  valueOf,
} from './config.ts';
import type { KeySchema, Typed } from './config.ts';

const schemas: Record<string, KeySchema> = {
  host: { type: 'string', minLength: 1 },
  prefix: { type: 'string' },
  port: { type: 'integer', default: 5432 },
  tls: { type: 'boolean', default: true },
  names: { type: ['array', 'null'] },
  mode: { type: 'string', enum: ['INSERT', 'COPY'], default: 'INSERT' },
  bucket: { type: ['string', 'null'], default: null },
  compression: { type: ['string', 'null'], enum: ['gzip', 'zstd', 'lz4', null], default: null },
  password: { type: 'string', minLength: 1, writeOnly: true },
  headers: { type: 'object', writeOnly: true },
  key: { type: 'string', maxLength: 20_000, writeOnly: true },
};
const type: DestinationType = {
  type: 'X',
  label: 'X',
  group: 'Databases',
  about: '',
  seldom_keys: [],
  config: { required: ['host', 'prefix', 'password'], properties: schemas },
  secret_keys: ['password', 'headers', 'key'],
  where_keys: ['host', 'port', 'tls'],
  connection_keys: ['host', 'port', 'tls', 'password', 'key'],
  less_safe: { tls: false },
  only_with: [{ keys: ['bucket'], key: 'mode', values: ['COPY'] }],
  formats: [{ key: 'mode', format: 'COPY', compressions: ['gzip'] }],
  models: [],
  shows_as_written: false,
  sets_rows_aside: false,
  merges_rows: false,
};
const stored = {
  host: 'a',
  prefix: 'p',
  port: 1,
  tls: true,
  mode: 'INSERT',
  bucket: null,
  names: ['x'],
};

test('a required choice is sent as it is shown, and decides which fields are shown', () => {
  const choice: KeySchema = { type: 'string', enum: ['File', 'S3'] };
  const stores: DestinationType = {
    ...type,
    config: { required: ['storage'], properties: { storage: choice, bucket: schemas['bucket'] } },
    only_with: [{ keys: ['bucket'], key: 'storage', values: ['File'] }],
  };
  assert.equal(shownValue(choice, undefined), 'File');
  assert.deepEqual(configToSend(stores, {}, undefined), { storage: 'File' });
  assert.deepEqual(configToSend(stores, { storage: 'S3' }, undefined), { storage: 'S3' });
  assert.equal(isShown(stores, 'bucket', {}, undefined), true);
  assert.equal(mustBeFilled(stores, 'storage'), false);
});

test('a list of known values is a choice of their combinations', () => {
  const schema = { type: 'array', items: { enum: ['date', 'event'] }, default: [] };
  const choices = choicesOf({ formats: [] } as never, 'partition_by', schema, () => '');
  assert.deepEqual(choices, ['', 'date', 'event', 'date\nevent']);
  assert.deepEqual([kindOf(schema), valueOf(schema, 'date\nevent')], ['choice', ['date', 'event']]);
  assert.equal(shownValue(schema, ['event', 'date']), 'date\nevent');
  assert.equal(valueOf(schema, ''), undefined);
});

test('each kind of value has its field, and is sent as typed', () => {
  const kinds = Object.values(schemas).map(kindOf);
  assert.deepEqual(kinds, [
    'text',
    'text',
    'number',
    'box',
    'list',
    'choice',
    'text',
    'choice',
    'text',
    'pairs',
    'long_text',
  ]);
  for (const [key, typed, value] of [
    ['port', '42', 42],
    ['port', '4x', '4x'],
    ['port', '', undefined],
    ['tls', false, false],
    ['names', 'a b\n\n c\n', ['a b', ' c']],
    ['names', '\n', undefined],
    ['headers', 'X-One: 1:2\nbare', { 'X-One': '1:2', bare: '' }],
    ['host', '', undefined],
  ] as const)
    assert.deepEqual(valueOf(schemas[key]!, typed), value, `${key} ${typed}`);
});

test('a new destination sends what was typed; a stored one what differs, no secret kept', () => {
  const cases: [Typed, typeof stored | undefined, object][] = [
    [
      { host: 'h', port: '', tls: false, bucket: 'b' },
      undefined,
      { prefix: '', host: 'h', tls: false },
    ],
    [{ mode: 'COPY', bucket: 'b' }, undefined, { prefix: '', mode: 'COPY', bucket: 'b' }],
    [{ password: '', key: null, prefix: 'x' }, undefined, { prefix: 'x' }],
    [{}, stored, {}],
    [{ host: 'a', port: '1', names: 'x', mode: 'INSERT' }, stored, {}],
    [{ host: 'b', names: '', port: '' }, stored, { host: 'b', names: null, port: 5432 }],
    [{ host: '' }, stored, { host: '' }],
    [{ password: '', headers: null }, stored, { headers: null }],
    [{ password: ' p ' }, stored, { password: ' p ' }],
  ];
  for (const [typed, before, sent] of cases)
    assert.deepEqual(configToSend(type, typed, before), sent, JSON.stringify(typed));
});

test('the form tells keys that lead elsewhere from others, and from safer ways', () => {
  const cases: [Typed, string[]][] = [
    [{ host: 'b', port: '2' }, ['host', 'port']],
    [{ names: 'y' }, []],
    [{ tls: false }, ['tls']],
    [{ host: 'a', password: 'p' }, []],
  ];
  for (const [typed, keys] of cases) assert.deepEqual(leadsElsewhere(type, typed, stored), keys);
  assert.deepEqual(leadsElsewhere(type, { tls: true }, { ...stored, tls: false }), []);
  assert.deepEqual(leadsElsewhere(type, { host: 'b' }, undefined), []);
});

test('fields and choices follow the others', () => {
  assert.equal(isShown(type, 'bucket', {}, stored), false);
  assert.equal(isShown(type, 'bucket', { mode: 'COPY' }, stored), true);
  const choices = (mode: string) =>
    choicesOf(type, 'compression', schemas['compression']!, () => mode);
  assert.deepEqual(choices('COPY'), ['gzip', null]);
  assert.deepEqual(choices('INSERT'), ['gzip', 'zstd', 'lz4', null]);
});

test('an empty secret means one thing: nothing at first, and what is stored later', () => {
  const said = (description: string, type = 'string') =>
    [false, true].map((is_stored) => secretHint({ type, description }, is_stored));
  const kept = 'A value is stored. Leave the field empty to keep it.';
  assert.deepEqual(said('Signs. If empty, nothing is signed.'), [
    'Signs. If empty, nothing is signed.',
    `Signs. ${kept}`,
  ]);
  assert.deepEqual(said('Leave it empty for a user without a password.'), [
    'Leave it empty for a user without a password.',
    kept,
  ]);
  assert.deepEqual(said(''), ['', kept]);
  assert.deepEqual(said('More. Each.', 'object'), [
    'More. Each. One per line, as `Name: value`.',
    `More. Each. One per line, as \`Name: value\`. ${kept}`,
  ]);
});

test('a text that may be empty has to be sent and need not be filled in', () => {
  assert.deepEqual(
    ['host', 'prefix', 'password', 'port'].map((key) => mustBeFilled(type, key)),
    [true, false, true, false],
  );
  assert.equal(configToSend(type, {}, undefined)['prefix'], '');
});

test('the hint of a key speaks of an empty field, never of null', () => {
  const nullable = { type: ['string', 'null'] };
  const hint = (description: string, more: KeySchema = {}) =>
    hintOf({ ...nullable, description, ...more });
  const choice = { enum: ['gzip', null] };
  assert.equal(hint('An address. If null or empty, AWS.'), 'An address. If empty, AWS.');
  assert.equal(hint('A bound. If null, all.'), 'A bound. If empty, all.');
  assert.equal(
    hint('At rest. If null, the rule of the bucket.', choice),
    'At rest. If None, the rule of the bucket.',
  );
  assert.equal(
    hint('Names. If null or empty, every event.', { type: ['array', 'null'] }),
    'Names. If empty, every event. One per line.',
  );
});
