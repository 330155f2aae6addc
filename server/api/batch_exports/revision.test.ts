import assert from 'node:assert/strict';
import { test } from 'node:test';
import { destinations, findDestination } from '../../engine/destinations/index.ts';
import { placesData, startsRevision } from './revision.ts';

const placing: Record<string, string[]> = {
  S3: ['bucket_name', 'region', 'prefix', 'endpoint_url', 'file_format', 'partition_by'],
  File: ['prefix', 'file_format', 'partition_by'],
  Iceberg: [
    'storage',
    'catalog',
    'catalog_signing_name',
    'catalog_uri',
    'catalog_warehouse',
    'namespace',
    'table',
    'bucket_name',
    'region',
    'endpoint_url',
    'account_name',
    'container_name',
  ],
  Delta: [
    'storage',
    'table',
    'prefix',
    'bucket_name',
    'region',
    'endpoint_url',
    'account_name',
    'container_name',
  ],
  Postgres: ['host', 'port', 'database', 'schema', 'table_name', 'ssh_host'],
  NoOp: ['arg'],
  AzureBlob: [
    'container_name',
    'account_name',
    'prefix',
    'endpoint_url',
    'file_format',
    'partition_by',
  ],
  GCS: ['bucket_name', 'prefix', 'endpoint_url', 'file_format', 'partition_by'],
  ClickHouse: ['url', 'database', 'table_name'],
  HTTP: ['url', 'body_format'],
  MySQL: ['host', 'port', 'database', 'table_name', 'ssh_host'],
  Redshift: [
    'host',
    'port',
    'database',
    'schema',
    'table_name',
    'properties_data_type',
    'ssh_host',
  ],
  Snowflake: ['account', 'database', 'schema', 'table_name', 'host'],
  BigQuery: ['project_id', 'dataset_id', 'table_id', 'use_json_type'],
};

test('the keys that create a new revision are exactly these', () => {
  for (const definition of destinations) {
    const keys = Object.keys(definition.config.properties).filter((key) =>
      placesData(definition, key),
    );
    assert.deepEqual(keys.toSorted(), placing[definition.type]?.toSorted(), definition.type);
  }
});

test('another account in a connection string is another place, another key is not', () => {
  const definition = findDestination('AzureBlob')!;
  const string = (account: string, key: string) =>
    `DefaultEndpointsProtocol=https;AccountName=${account};AccountKey=${key};` +
    'EndpointSuffix=core.windows.net';
  const before = {
    model: 'events',
    custom_query: null,
    destination: {
      type: 'AzureBlob',
      config: { container_name: 'c', connection_string: string('one', 'a2V5') },
    },
  };
  const after = (connection_string: string) => ({
    ...before,
    destination: { type: 'AzureBlob', config: { container_name: 'c', connection_string } },
  });
  assert.equal(startsRevision(definition, before, after(string('one', 'b3RoZXI='))), false);
  assert.equal(startsRevision(definition, before, after(string('two', 'a2V5'))), true);
});

test('model, query, type and place start a revision; secrets and compression do not', () => {
  const definition = findDestination('File')!;
  const before = {
    model: 'events',
    custom_query: null,
    destination: {
      type: 'File',
      config: { prefix: 'a', file_format: 'JSONLines', compression: null },
    },
  };
  const config = (change: Record<string, unknown>) => ({
    ...before,
    destination: { type: 'File', config: { ...before.destination.config, ...change } },
  });
  assert.equal(startsRevision(definition, before, structuredClone(before)), false);
  assert.equal(
    startsRevision(definition, before, config({ compression: 'gzip', max_file_size_mb: 7 })),
    false,
  );
  assert.equal(startsRevision(definition, before, config({ prefix: 'b' })), true);
  assert.equal(startsRevision(definition, before, config({ file_format: 'CSV' })), true);
  assert.equal(startsRevision(definition, before, { ...before, model: 'persons' }), true);
  assert.equal(startsRevision(definition, before, { ...before, custom_query: 'SELECT 1' }), true);
  assert.equal(
    startsRevision(definition, before, { ...before, destination: { type: 'NoOp', config: {} } }),
    true,
  );
  assert.equal(
    startsRevision(
      { secrets: ['password'] },
      { ...before, destination: { type: 'P', config: { password: 'a' } } },
      { ...before, destination: { type: 'P', config: { password: 'b' } } },
    ),
    false,
  );
});
