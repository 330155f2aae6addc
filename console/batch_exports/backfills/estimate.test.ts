import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bytesOf } from './estimate.ts';
import { placeOf } from './place.ts';
const run = (records_completed: number, bytes_completed: number, status = 'Completed') =>
  ({ status, records_completed, bytes_completed }) as never;
const of = (records: number, runs: number, latest_runs: never[]) =>
  bytesOf({ records, runs }, { latest_runs });

test('a file of one row says nothing about a row', () => {
  // The month of the review: 744 runs, 11,375 rows, and only a first file of one row of 4.7 kB.
  assert.equal(of(11_375, 744, [run(1, 4_700)]), undefined);
  const files = [run(16, 5_500), run(15, 5_400), run(17, 5_600)];
  const estimate = of(11_375, 744, files)!;
  assert.ok(estimate > 3_800_000 && estimate < 4_300_000, `${estimate}`);
});

test('an estimate has the overhead of each run and the bytes of each row', () => {
  const known = [run(1_000, 104_000), run(2_000, 204_000)];
  assert.equal(of(3_000, 2, known), 2 * 4_000 + 3_000 * 100);
  assert.equal(of(1_500, 1, [run(1_000, 100_000)]), 100_000);
});

test('without runs of about that size there is no estimate', () => {
  assert.equal(of(10, 1, []), undefined);
  assert.equal(of(10, 1, [run(0, 0)]), undefined);
  assert.equal(of(10, 1, [run(10, 9, 'Failed')]), undefined);
  assert.equal(of(10_000, 1, [run(10, 1_000)]), undefined);
  assert.equal(of(0, 0, [run(10, 1_000)]), undefined);
});

test('a place is named by its table, else by its prefix, else by its type', () => {
  const place = (config: object) => placeOf({ type: 'Postgres', config });
  assert.equal(place({ table_name: 'events3', schema: 'public' }), 'events3');
  assert.equal(place({ prefix: 'events/', bucket_name: 'lake' }), 'events/');
  assert.equal(place({ prefix: '' }), 'Postgres');
});
