import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { destinations } from '../../../server/engine/destinations/index.ts';
import { placeOf, readCommand } from './read_command.ts';

const catalog = { uri: 'http://127.0.0.1:8000/iceberg', project_id: '1' };
const table = 'sluice.events';
const of = (type: string, name: string, config: Record<string, unknown> = {}) =>
  readCommand({ type, name, config, folder: 'exports', catalog });

test('files are read by what their names end with', () => {
  assert.equal(
    of('File', 'events/day=29/a-0.parquet'),
    'duckdb -c "SELECT * FROM read_parquet(\'exports/events/day=29/a-0.parquet\') LIMIT 10"',
  );
  assert.equal(of('File', 'a.jsonl'), 'head exports/a.jsonl');
  assert.equal(of('File', 'a.jsonl.gz'), 'gzip -dc exports/a.jsonl.gz | head');
  assert.equal(of('File', 'a b.csv.zst'), 'zstd -dc "exports/a b.csv.zst" | head');
});

test('a table in the export folder is read as a whole', () => {
  assert.equal(
    of('Delta', 'delta/1/events/a-0.parquet', { storage: 'File' }),
    'duckdb -c "SELECT * FROM delta_scan(\'exports/delta/1/events\') LIMIT 10"',
  );
  const config = { storage: 'S3', bucket_name: 'acme' };
  assert.equal(of('Delta', 'events/a-0.parquet', config), undefined);
  const delivered = {
    type: 'Delta',
    name: 'events/a-0.parquet',
    config,
    folder: 'exports',
    catalog,
  };
  assert.equal(placeOf(delivered), 's3://acme/events/a-0.parquet');
});

test('objects are fetched and read; tables are asked', () => {
  const bucket = { bucket_name: 'acme', endpoint_url: 'https://s3.example.com' };
  assert.equal(
    of('S3', 'day/a.jsonl', bucket),
    'aws s3 cp s3://acme/day/a.jsonl a.jsonl --endpoint-url https://s3.example.com && head a.jsonl',
  );
  assert.equal(
    placeOf({ type: 'GCS', name: 'a', config: bucket, folder: undefined, catalog }),
    'gs://acme/a',
  );
  const server = { host: 'db.example.com', port: 5433, user: 'etl', database: 'shop' };
  assert.equal(
    of('Postgres', 'public.events', server),
    'psql -h db.example.com -p 5433 -U etl -d shop -c "SELECT * FROM public.events LIMIT 10"',
  );
  assert.equal(
    of('Postgres', 'public.Events', { database: 'shop' }),
    `psql -d shop -c 'SELECT * FROM public."Events" LIMIT 10'`,
  );
  assert.equal(
    of('BigQuery', 'analytics.events', { project_id: 'acme' }),
    "bq query --use_legacy_sql=false 'SELECT * FROM `acme.analytics.events` LIMIT 10'",
  );
});

test('a table of the lake is asked for through the catalog', () => {
  const config = { table: 'events' };
  assert.equal(placeOf({ type: 'Iceberg', name: '', config, folder: undefined, catalog }), table);
  assert.match(of('Iceberg', '', config)!, new RegExp(`FROM lake.${table} LIMIT 10;$`));
  const hostile = { table: 'events"; DROP TABLE b' };
  assert.match(of('Iceberg', '', hostile)!, /FROM lake\.sluice\."events""; DROP TABLE b" LIMIT/);
  assert.equal(of('Iceberg', '', { ...config, catalog: 'glue' }), undefined);
});

test('each type has a command but those that have no rows to read, or want a key', () => {
  const config = { table: 'events' };
  const without = destinations.filter(({ type }) => of(type, 'a', config) === undefined);
  assert.deepEqual(
    without.map(({ type }) => type),
    ['Delta', 'HTTP', 'NoOp'],
  );
});

test('a hostile name stays one word of the shell', () => {
  for (const name of [
    "a'; touch b; '.jsonl",
    'a$(touch b).jsonl',
    'a`touch b`.jsonl',
    'a" b.jsonl',
  ]) {
    const shown = execFileSync('sh', ['-c', of('File', name)!.replace('head', "printf '%s'")]);
    assert.equal(String(shown), `exports/${name}`);
  }
});
