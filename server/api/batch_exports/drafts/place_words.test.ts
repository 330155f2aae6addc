import assert from 'node:assert/strict';
import { test } from 'node:test';
import { placeWords } from './place_words.ts';

test('a place is named by its table, its bucket or its address, and never by a secret', () => {
  const cases: [string, Record<string, unknown>, string][] = [
    [
      'Postgres',
      { host: 'db.example.com', database: 'd', schema: 's', table_name: 't', password: 'hidden' },
      'table s.t in d at db.example.com',
    ],
    [
      'BigQuery',
      { project_id: 'p', dataset_id: 'd', table_id: 't', private_key: 'hidden' },
      'table d.t at p',
    ],
    ['ClickHouse', { url: 'https://c:8443', table_name: 't' }, 'table t at https://c:8443'],
    ['S3', { bucket_name: 'lake', prefix: 'events/' }, 'events/ in lake (S3)'],
    ['AzureBlob', { container_name: 'c', prefix: '' }, 'the root in c (AzureBlob)'],
    ['HTTP', { url: 'https://example.com/rows', token: 'hidden' }, 'https://example.com/rows'],
    ['File', { prefix: 'here' }, 'the folder here of this server'],
    ['NoOp', { arg: '' }, 'NoOp'],
  ];
  for (const [type, config, words] of cases) assert.equal(placeWords({ type, config }), words);
});
