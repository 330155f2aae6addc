import assert from 'node:assert/strict';
import { test } from 'node:test';
import { shareHarness } from '../../../test/harness.ts';
import { destinations } from '../../engine/destinations/index.ts';
import { destination_groups } from './introductions.ts';
import { compressionsOf } from '../../engine/model/destination/encoding.ts';

const harness = shareHarness({ clickhouse: false });

async function list(scopes = ['batch_export:read']) {
  const { key } = await harness.newOrganization({ scopes });
  return harness.request('GET', '/api/destinations/', { key });
}

test('every destination is listed with the schema by which its config is checked', async () => {
  const { body } = await list();
  assert.equal(body.count, destinations.length);
  for (const [index, definition] of destinations.entries()) {
    const shown = body.results[index];
    assert.deepEqual([shown.type, shown.label], [definition.type, definition.label]);
    assert.equal(shown.missing_package, undefined, 'a checkout has every package');
    const keys = Object.entries<Record<string, unknown>>(shown.config.properties);
    assert.deepEqual(
      keys.map(([key]) => key),
      [...Object.keys(definition.config.properties), 'include_events', 'exclude_events'],
    );
    assert.deepEqual(shown.config.required, definition.config.required);
    assert.equal(shown.config.additionalProperties, false);
    for (const [key, schema] of keys) {
      assert.match(String(schema['title']), /^[A-Z]/, `${definition.type} ${key}`);
      assert.notEqual(schema['description'], '', `${definition.type} ${key}`);
      assert.equal(schema['writeOnly'] ?? false, definition.secrets.includes(key));
      assert.ok(!('wrong_detail' in schema) && !('trim' in schema));
    }
    assert.match(shown.about, /^[A-Z].{20,70}\.$/, `${definition.type} is introduced`);
    assert.ok(destination_groups.includes(shown.group), `${definition.type} has its group`);
    const asked = new Set([...(shown.config.required ?? []), 'password', 'token']);
    assert.ok(shown.seldom_keys.every((key: string) => !asked.has(key)));
    assert.deepEqual(shown.secret_keys, [...definition.secrets]);
    assert.deepEqual(shown.where_keys, [...definition.where]);
    assert.deepEqual(shown.connection_keys, [...(definition.connection ?? [])]);
    for (const { keys: only, key, values } of shown.only_with) {
      const of: { enum: string[] } = shown.config.properties[key];
      assert.ok(values.every((value: string) => of.enum.includes(value)));
      for (const one of only)
        assert.ok(one in shown.config.properties, `${definition.type} ${one}`);
    }
    assert.deepEqual(
      shown.models.map(({ model }: { model: string }) => model),
      ['events', 'persons', 'person_distinct_ids', 'sessions', 'groups'],
    );
    assert.ok(shown.models[0].columns.some(({ name }: { name: string }) => name === 'uuid'));
  }
});

test('formats name the compressions that the rules of the destination take', async () => {
  const { results } = (await list()).body;
  const formats = (type: string) =>
    results
      .find((one: { type: string }) => one.type === type)
      .formats.map((one: { format: string; compressions: string[] }) => [
        one.format,
        one.compressions.toSorted(),
      ]);
  for (const type of ['S3', 'AzureBlob', 'GCS', 'File'])
    assert.deepEqual(
      formats(type),
      (['JSONLines', 'Parquet', 'CSV', 'Avro'] as const).map((format) => [
        format,
        compressionsOf(format).toSorted(),
      ]),
      type,
    );
  assert.deepEqual(formats('HTTP')[2], ['Batch', ['brotli', 'gzip', 'zstd']]);
  assert.deepEqual(formats('Postgres'), []);
});

test('keys that the schema requires are those that a create asks for', async () => {
  const home = await harness.newOrganization();
  for (const { type, config } of (await list()).body.results) {
    const answer = await home.ask('POST', `/api/projects/${home.project.id}/batch_exports/`, {
      name: 'x',
      interval: 'hour',
      destination: { type, config: {} },
    });
    const missing = (answer.body.errors ?? [])
      .filter(({ code }: { code: string }) => code === 'required')
      .map(({ attr }: { attr: string }) => attr.replace('destination__config__', ''));
    const asked = (config.required ?? []).filter(
      (key: string) => config.properties[key].default === undefined,
    );
    for (const key of asked) assert.ok(missing.includes(key), `${type} ${key}`);
  }
});

test('one type is found by its name; another is 404; other scopes are 403', async () => {
  const home = await harness.newOrganization({ scopes: ['batch_export:read'] });
  const get = (path: string, headers = {}) =>
    harness.request('GET', `/api/destinations/${path}`, { key: home.key, headers });
  const found = await get('S3/');
  assert.equal(found.body.type, 'S3');
  assert.equal((await get('S3/', { 'if-none-match': found.headers['etag']! })).status, 304);
  assert.equal((await get('S4/')).status, 404);
  assert.equal((await list(['project:read'])).status, 403);
});
