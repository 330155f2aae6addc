import assert from 'node:assert/strict';
import { buffer } from 'node:stream/consumers';
import { test } from 'node:test';
import { is_deep } from '../../../../test/depth.ts';
import { aroundTests } from '../../../../test/around_tests.ts';
import { openTestClickHouse } from '../../../../test/harness_stores.ts';
import { findDestination } from '../../destinations/index.ts';
import { selectFor } from '../../destinations/formats/select.ts';
import { openQueryBudget } from '../../query/query_budget.ts';
import { cutSlices, usual_most } from './cut_slices.ts';

const stores = aroundTests(openTestClickHouse);

/** Cuts so many rows, so many of them at each microsecond. */
const cut = (
  rows: number,
  rows_each: number,
  settings: Record<string, number> = {},
  records_max = usual_most.records_max,
) =>
  cutSlices(
    {
      clickhouse: stores.clickhouse,
      query_limits: {} as never,
      query_budget: openQueryBudget(1e9),
    },
    {
      team_id: 7,
      text: `(SELECT fromUnixTimestamp64Micro(intDiv(number, ${rows_each}), 'UTC') AS inserted_at
        FROM numbers(${rows}))`,
      parameters: {},
      order: 'inserted_at, uuid',
      key: 'uuid',
      settings,
      query: undefined,
    },
    undefined,
    new AbortController().signal,
    { ...usual_most, records_max },
  );

test('a slice ends after the instant that fills it', async () => {
  const slices = await cut(1_500_000, 300_000);
  assert.deepEqual(
    slices.map(({ records, inserted_from, inserted_to }) => [records, inserted_from, inserted_to]),
    [
      [1_200_000, '1970-01-01T00:00:00.000000Z', '1970-01-01T00:00:00.000004Z'],
      [300_000, '1970-01-01T00:00:00.000004Z', '1970-01-01T00:00:00.000005Z'],
    ],
  );
});

test('a table has slices of its own size', async () => {
  for (const destination of ['Iceberg', 'Delta']) {
    const { records_max } = findDestination(destination)!.slices_most!;
    const slices = await cut(1_000_000, 1_000, {}, records_max);
    assert.deepEqual(
      slices.map(({ records }) => records),
      [500_000, 500_000],
    );
  }
});

test('rows of an instant each are cut in little memory', async () => {
  const rows = is_deep ? 3_000_000 : 1_500_000;
  const slices = await cut(rows, 1, { max_memory_usage: 50 * rows });
  assert.deepEqual(
    slices.map(({ records }) => records),
    is_deep ? [1_000_000, 1_000_000, 1_000_000] : [1_000_000, 500_000],
  );
});

test('a query that fails in the middle of a Parquet file ends', { timeout: 30_000 }, async () => {
  const { settings } = selectFor({ format: 'Parquet', compression: null }, []);
  // With groups as small as these, one stream in fifteen never ended when several encoders worked.
  const small = { max_block_size: 10_000, output_format_parquet_row_group_size: 10_000 };
  const query = 'SELECT number, throwIf(number = 200000) FROM numbers(500000) FORMAT Parquet';
  for (let tries = 0; tries < 25; tries += 1) {
    const clickhouse_settings = { ...settings, ...small } as never;
    const asked = stores.clickhouse.exec({ query, clickhouse_settings });
    await assert.rejects(asked.then(({ stream }) => buffer(stream)));
  }
});
