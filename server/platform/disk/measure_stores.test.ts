import assert from 'node:assert/strict';
import { test } from 'node:test';
import { shareHarness } from '../../../test/harness.ts';
import { measureStores } from './measure_stores.ts';

const harness = shareHarness({ clickhouse: true });

test('with a budget, the size of both stores is measured beside the free room', async () => {
  const { db, clickhouse } = harness.deps;
  const places = { db, clickhouse, folder: undefined, has_own_clickhouse: true };
  const measured = await measureStores({ ...places, has_budget: true });
  // An empty database of PostgreSQL already has some megabytes.
  assert.ok(measured.used_bytes! > 1_000_000, `${measured.used_bytes}`);
  const [disk] = measured.places;
  assert.match(disk!.name, /^disk ".+" of ClickHouse$/);
  assert.ok(disk!.free_bytes > 0 && disk!.free_bytes <= disk!.total_bytes);
  const { used_bytes } = await measureStores({ ...places, has_budget: false });
  assert.equal(used_bytes, undefined);
});
