import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describeDestination } from '../../server/api/destinations/describe.ts';
import { destinations } from '../../server/engine/destinations/index.ts';
import { tilesOf } from './tiles.ts';

const types = destinations.map(describeDestination);
const found = (wanted: string) =>
  tilesOf(types, wanted).flatMap((group) => group.types.map(({ type }) => type));

test('destinations stand in their groups, and are found by any part of what is said', () => {
  assert.deepEqual(
    tilesOf(types, '').map(({ group }) => group),
    ['Files and object stores', 'Databases', 'Warehouses', 'HTTP and tests'],
  );
  assert.equal(found('').length, types.length);
  assert.deepEqual(found('mariadb'), ['MySQL']);
  assert.deepEqual(found('google'), ['GCS', 'BigQuery']);
  assert.deepEqual(found('warehouses snow'), ['Snowflake']);
  assert.deepEqual(found('oracle'), []);
});

test('a name that begins so comes first, so that Enter takes it', () => {
  assert.equal(found('post')[0], 'Postgres');
  assert.equal(found('s3')[0], 'S3');
  assert.equal(found('http')[0], 'HTTP');
});
