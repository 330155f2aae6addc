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

test('readers of a table in S3 get what the catalog gives', () => {
  const texts = (metadata_location: string) =>
    Object.fromEntries(
      readWays({ ...table, metadata_location }).map(({ reader, text }) => [reader, text]),
    );
  const [folder, bucket] = [texts('file:///exports/a.json'), texts('s3://bucket/a.json')];
  assert.match(bucket['Spark']!, /iceberg-aws-bundle[^]*"vended-credentials"/);
  assert.match(bucket['polars']!, /storage_options=given/);
  for (const reader of ['Spark', 'polars']) assert.notEqual(folder[reader], bucket[reader]);
});

test('names of other writers stand in the quotes of their language', () => {
  const odd = { ...table, namespace: 'Shop.web', name: 'a"b`c\'d' };
  const texts = Object.fromEntries(readWays(odd).map(({ reader, text }) => [reader, text]));
  assert.ok(texts['DuckDB']!.includes(`lake."Shop".web."a""b\`c'd"`));
  assert.ok(texts['Spark']!.includes('lake.`Shop`.web.`a\\"b``c\'d`'));
  assert.ok(texts['ClickHouse']!.includes('lake.`Shop.web.a"b``c\'d`'));
  assert.ok(texts['Snowflake']!.includes(`"a""b\`c'd"`));
});
