import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readWays } from './read_ways.ts';

const table = {
  uri: 'https://sluice.example.com/iceberg',
  project_id: '1',
  namespace: 'sluice',
  name: 'events',
  metadata_location: 'gs://bucket/lake/sluice/events/metadata/00001-a.metadata.json',
};

test('each way names the catalog or the file, and says how far it was tried', () => {
  for (const { reader, text, tried } of readWays(table)) {
    assert.match(tried, /^(?:Run with .* \d|Not run here: )/, reader);
    const place = reader === 'BigQuery' ? table.metadata_location : table.uri;
    assert.ok(text.includes(place), reader);
    if (reader !== 'BigQuery') assert.ok(text.includes('API_KEY'), reader);
  }
});

test('names of other writers stand in the quotes of their language', () => {
  const odd = { ...table, namespace: 'Shop.web', name: 'a"b`c\'d' };
  const texts = Object.fromEntries(readWays(odd).map(({ reader, text }) => [reader, text]));
  assert.ok(texts['DuckDB']!.includes(`lake."Shop".web."a""b\`c'd"`));
  assert.ok(texts['Spark']!.includes('lake.`Shop`.web.`a\\"b``c\'d`'));
  assert.ok(texts['ClickHouse']!.includes('lake.`Shop.web.a"b``c\'d`'));
  assert.ok(texts['Snowflake']!.includes(`"a""b\`c'd"`));
});
