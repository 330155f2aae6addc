import assert from 'node:assert/strict';
import { test } from 'node:test';
import { destinations } from '../../../engine/destinations/index.ts';
import { configSchemaOf } from '../../../engine/models/event_filter.ts';
import { leadsSecrets, trialViolations } from './stored_secrets.ts';

test('which keys of which destination lead its secrets', () => {
  const leading = destinations
    .filter(({ secrets }) => secrets.length > 0)
    .map((definition) => [
      definition.type,
      Object.keys(configSchemaOf(definition).properties).filter(leadsSecrets).toSorted(),
    ]);
  assert.deepEqual(Object.fromEntries(leading), {
    AzureBlob: ['account_name', 'connection_string', 'endpoint_url'],
    BigQuery: ['project_id', 'token_uri'],
    ClickHouse: ['has_self_signed_cert', 'url', 'user'],
    GCS: ['bucket_name', 'endpoint_url', 'service_account_json'],
    HTTP: ['url'],
    MySQL: ['has_self_signed_cert', 'host', 'port', 'require_tls', 'user'],
    Postgres: ['has_self_signed_cert', 'host', 'port', 'require_tls', 'user'],
    Redshift: [
      'bucket_name',
      'endpoint_url',
      'has_self_signed_cert',
      'host',
      'iam_role',
      'mode',
      'port',
      'region',
      'require_tls',
      'user',
    ],
    S3: ['bucket_name', 'endpoint_url', 'region', 'use_virtual_style_addressing'],
    Snowflake: ['account', 'authentication_type', 'host', 'user'],
  });
});

test('of every destination a change of each of these keys asks for each secret that was not sent, and nothing else does', () => {
  for (const definition of destinations) {
    const keys = Object.keys(configSchemaOf(definition).properties);
    const stored = {
      type: definition.type,
      config: Object.fromEntries(keys.map((key) => [key, `stored ${key}`])),
    };
    const asked = (changed: string, sent: string[]) =>
      trialViolations(
        definition,
        stored,
        { type: definition.type, config: { ...stored.config, [changed]: 'other' } },
        new Set(sent),
      ).map(({ attr }) => attr);
    for (const key of keys) {
      const others = definition.secrets
        .filter((secret) => secret !== key)
        .map((secret) => `destination__config__${secret}`);
      assert.deepEqual(
        asked(key, [key]),
        leadsSecrets(key) ? others : [],
        `${definition.type} ${key}`,
      );
      assert.deepEqual(asked(key, [key, ...definition.secrets]), [], `${definition.type} ${key}`);
    }
  }
});

test('a default that was not stored, an empty secret and another type ask for nothing', () => {
  const definition = destinations.find(({ type }) => type === 'HTTP')!;
  const at = (url: string, more: object = {}, type = 'HTTP') => ({
    type,
    config: { url, token: '', headers: {}, ...more },
  });
  assert.deepEqual(
    trialViolations(definition, at('https://a.example'), at('https://b.example'), new Set(['url'])),
    [],
  );
  const [asked] = trialViolations(
    definition,
    at('https://a.example', { token: 'x' }),
    at('https://b.example', { token: 'x' }),
    new Set(['url']),
  );
  assert.equal(asked?.attr, 'destination__config__token');
  assert.match(asked.detail, /another url .* whoever listens there/);
  assert.deepEqual(
    trialViolations(definition, at('a', { token: 'x' }, 'Old'), at('b', { token: 'x' }), new Set()),
    [],
  );
  assert.deepEqual(
    trialViolations(
      definition,
      at('a', { token: 'x', endpoint_url: null }),
      at('a', { token: 'x' }),
      new Set(),
    ),
    [],
  );
});
