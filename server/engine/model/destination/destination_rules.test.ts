import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findDestination } from '../../destinations/index.ts';

/** The keys that a destination's own rules name in a config. */
const named = (type: string, config: Record<string, unknown>) =>
  findDestination(type)!
    .validate(config)
    .map(({ attr }) => attr);

test('a host of a database has no port', () => {
  for (const type of ['Postgres', 'MySQL', 'Redshift']) {
    const at = (host: string) =>
      named(type, {
        user: 'u',
        password: 'p',
        database: 'd',
        table_name: 't',
        schema: 's',
        host,
        mode: 'INSERT',
      });
    for (const host of ['db.example.com', '10.0.0.7', '::1', '2001:db8::7', 'under_score'])
      assert.deepEqual(at(host), [], `${type} ${host}`);
    for (const host of ['db.example.com:5432', 'h:1', 'https://h', 'h/d', '[::1]', '::1:x', 'a b'])
      assert.deepEqual(at(host), ['host'], `${type} ${host}`);
  }
});

test('a bucket has a name that can be addressed where it is', () => {
  const at = (bucket_name: string, more: object = {}) =>
    named('S3', {
      bucket_name,
      region: 'eu-central-1',
      prefix: '',
      aws_access_key_id: 'k',
      aws_secret_access_key: 's',
      ...more,
    });
  const elsewhere = { endpoint_url: 'https://store.example.com' };
  for (const name of ['bucket', 'my.bucket-7'])
    assert.deepEqual([at(name), at(name, elsewhere)], [[], []], name);
  for (const name of ['UPPER_case', 'Upper', 'under_score', 'a'.repeat(64)]) {
    assert.deepEqual([at(name), at(name, elsewhere)], [['bucket_name'], []], name);
    assert.deepEqual(
      at(name, { ...elsewhere, use_virtual_style_addressing: true }),
      ['bucket_name'],
      name,
    );
  }
});

test('a prefix has no half of a brace', () => {
  for (const prefix of ['a/{year}/{month}', 'plain', ''])
    assert.deepEqual(named('File', { prefix }), [], prefix);
  for (const prefix of ['a/{year', 'a/year}', '{{year}}', '{year}/{'])
    assert.deepEqual(named('File', { prefix }), ['prefix'], prefix);
});
