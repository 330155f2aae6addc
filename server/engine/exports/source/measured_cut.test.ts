import assert from 'node:assert/strict';
import { buffer } from 'node:stream/consumers';
import { test } from 'node:test';
import { inDepth } from '../../../../test/depth.ts';
import { aroundTests } from '../../../../test/around_tests.ts';
import { openTestClickHouse } from '../../../../test/harness_stores.ts';
import { cutSlices } from './cut_slices.ts';
import type { Encoding } from '../../model/destination/encoding.ts';
import { models } from '../../model/models/index.ts';
import { openQueryBudget } from '../../query/query_budget.ts';
import type { StoredSlice } from '../../model/run.ts';
import type { Store } from './source.ts';
import { streamSlice } from './source.ts';

/** The largest size of a file. */
const most = inDepth(128, 1024) * 1024;
const rows_small = inDepth(1_200, 20_000);
const rows_large = inDepth(160, 3_000);
const rows_late = inDepth(62, 500);
const rows_all = rows_small + rows_large + 1 + rows_late;
const columns = models.events.columns.files;
let store: Store;
const stores = aroundTests(openTestClickHouse, async (opened) => {
  const limits = { execution_seconds: 60, memory_bytes: 1e9, rows: 1e9 };
  const { clickhouse } = opened;
  store = { clickhouse, query_limits: limits as never, query_budget: openQueryBudget(1e9) };
  // Sizes that a sample of the first rows says nothing of: small ones first, then one insertion as
  // large as five files or more, then one event as large as three among small ones.
  await fill(rows_small, 48, 'toIntervalMillisecond(intDiv(number, 100))');
  await fill(rows_large, 4_000, 'toIntervalSecond(1000)');
  await fill(1, 3 * most, 'toIntervalSecond(1001)');
  await fill(rows_late, 96, 'toIntervalSecond(1001)');
});

async function fill(rows: number, bytes: number, later: string): Promise<void> {
  await stores.clickhouse.command({
    query: `INSERT INTO events (team_id, uuid, event, distinct_id, properties, timestamp,
      inserted_at)
      SELECT 7, generateUUIDv4(number), 'a "quoted", event', 'd', concat('{"text":"',
        toString(number), repeat('0123456789abcde ', ${bytes / 16}), '"}'),
        toDateTime64('2026-01-01 00:00:00', 6, 'UTC'), toDateTime64('2026-01-01 00:00:00', 6,
          'UTC') + ${later} FROM numbers(${rows})`,
  });
}

const reading = {
  team_id: 7,
  text: '(SELECT * FROM events WHERE team_id = 7)',
  parameters: {},
  order: 'inserted_at, uuid',
  key: 'uuid',
  settings: {},
  query: undefined,
} as const;
const never = new AbortController().signal;
const cut = (encoding: Encoding, bytes_max: number) =>
  cutSlices(store, reading, { bytes_max, encoding, columns, is_rough: false }, never);

for (const format of ['JSONLines', 'CSV', 'Parquet'] as const)
  test(`no ${format} file is larger than it may be, but for one row that is`, async () => {
    const encoding: Encoding = { format, compression: null };
    const slices = await cut(encoding, most);
    const parts: Buffer[] = [];
    for (const slice of slices)
      parts.push(await buffer(await streamSlice(store, reading, slice, columns, encoding, never)));
    const large = slices.filter((_slice, index) => parts[index]!.length > most);
    assert.deepEqual(
      large.map(({ records }) => records),
      [1],
    );
    assert.equal(
      slices.reduce((sum, { records }) => sum + records, 0),
      rows_all,
    );
    const bytes = Buffer.concat(parts).length;
    assert.ok(slices.length < 2.5 * (bytes / most), `${slices.length} files for ${bytes} bytes`);
    if (format === 'JSONLines') await assertWhole(slices, parts);
  });

/** Fails unless the files hold every row once and in order, also where they part one insertion. */
async function assertWhole(slices: StoredSlice[], parts: Buffer[]): Promise<void> {
  assert.ok(slices.some(({ key_from }) => typeof key_from === 'string'));
  assert.deepEqual(
    parts.map((part) => part.toString('latin1').split('\n').length - 1),
    slices.map(({ records }) => records),
  );
  const encoding: Encoding = { format: 'JSONLines', compression: null };
  const [whole] = await cutSlices(store, reading, undefined, never);
  const all = await buffer(await streamSlice(store, reading, whole!, columns, encoding, never));
  assert.ok(Buffer.concat(parts).equals(all));
}

test('a rough cut is near the bound', async () => {
  const encoding: Encoding = { format: 'JSONLines', compression: null };
  const bound = { bytes_max: most, encoding, columns, is_rough: true };
  const slices = await cutSlices(store, reading, bound, never);
  const sizes: number[] = [];
  for (const slice of slices) {
    const bytes = await buffer(await streamSlice(store, reading, slice, columns, encoding, never));
    if (slice.records > 1) sizes.push(bytes.length);
  }
  assert.ok(Math.max(...sizes) < 1.2 * most, String(sizes));
  assert.ok(sizes.reduce((sum, size) => sum + size, 0) / sizes.length > 0.7 * most, String(sizes));
});

test('rows that fit are one slice, and no rows are none', async () => {
  const encoding: Encoding = { format: 'JSONLines', compression: null };
  const [only, ...more] = await cut(encoding, 100 * most);
  assert.deepEqual(
    [only?.records, only?.key_from, only?.key_to, more.length],
    [rows_all, null, null, 0],
  );
  const none = { ...reading, text: '(SELECT * FROM events WHERE team_id = 8)' };
  const bound = { bytes_max: most, encoding, columns, is_rough: false };
  assert.deepEqual(await cutSlices(store, none, bound, never), []);
});
