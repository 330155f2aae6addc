import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aroundTests } from '../../../../test/around_tests.ts';
import { openTestClickHouse } from '../../../../test/harness_stores.ts';
import { NonRetryableError } from '../../model/destination/errors.ts';
import { openQueryBudget } from '../../query/query_budget.ts';
import { cutPartitions, partitions_max } from './cut_partitions.ts';
import { isInPartition } from './partitions.ts';
import { boundsOf } from './source.ts';

const stores = aroundTests(openTestClickHouse);
const { signal } = new AbortController();

/** Rows of one second each from shortly before midnight in Berlin, with this event. */
const reading = (rows: number, event: string) => ({
  team_id: 7,
  text: `(SELECT fromUnixTimestamp64Micro(number, 'UTC') AS inserted_at, number AS uuid,
    toDateTime64('2026-03-28 22:59:58', 6, 'UTC') + toIntervalSecond(number) AS timestamp,
    ${event} AS event FROM numbers(${rows}))`,
  parameters: {},
  order: 'inserted_at, uuid',
  key: 'uuid' as const,
  settings: {},
  query: undefined,
});
const store = () => ({
  clickhouse: stores.clickhouse,
  query_limits: {} as never,
  query_budget: openQueryBudget(1e9),
});
const both = { keys: ['date', 'event'] as const, timezone: 'Europe/Berlin' };

test('every row lies in the one slice of its day and its event', async () => {
  const events = "['a', '', repeat('/', 81), repeat('/', 80), 'é', unhex('ff')][number % 6 + 1]";
  const source = reading(60, events);
  const slices = await cutPartitions(store(), source, both, undefined, signal);
  assert.deepEqual(
    slices.map(({ number, partition, records }) => [
      number,
      partition!.date,
      partition!.event,
      records,
    ]),
    [
      [0, '2026-03-28', 'a', 1],
      [1, '2026-03-28', null, 1],
      [2, '2026-03-29', '/'.repeat(80), 10],
      [3, '2026-03-29', 'a', 9],
      [4, '2026-03-29', 'é', 10],
      [5, '2026-03-29', null, 29],
    ],
  );
  for (const slice of slices) {
    const { where, parameters } = boundsOf(source, slice);
    const [row] = await stores.clickhouse.rows<{ n: string }>({
      query: `SELECT count() AS n FROM ${source.text}${where}`,
      query_params: parameters,
    });
    assert.equal(Number(row!.n), slice.records);
  }
});

test('the day of a row in its zone is told without the store as well', () => {
  const at = (text: string) => Date.parse(text) * 1000;
  const partition = { date: '2026-03-29', event: 'a', timezone: 'Europe/Berlin' };
  const isIn = (event: string, text: string) =>
    isInPartition({ event, happened_us: at(text) }, partition);
  assert.ok(isIn('a', '2026-03-28T23:00:00Z') && isIn('a', '2026-03-29T21:59:59Z'));
  assert.ok(!isIn('a', '2026-03-28T22:59:59Z') && !isIn('a', '2026-03-29T22:00:00Z'));
  assert.ok(!isIn('b', '2026-03-29T12:00:00Z'));
  const none = { event: null, timezone: 'UTC' };
  assert.ok(isInPartition({ event: '/'.repeat(81), happened_us: 0 }, none));
  assert.ok(!isInPartition({ event: '/'.repeat(80), happened_us: 0 }, none));
});

test('a large partition is cut by the size of its rows', async () => {
  const columns = [{ name: 'event', type: 'text', nullable: false, expression: 'event' } as const];
  const bound = {
    bytes_max: 1_000,
    encoding: { format: 'JSONLines', compression: null } as const,
    columns,
    is_rough: false,
  };
  const source = reading(100, "if(number < 90, repeat('x', 90), 'y')");
  const by_event = { keys: ['event'] as const, timezone: 'UTC' };
  const slices = await cutPartitions(store(), source, by_event, bound, signal);
  assert.equal(
    slices.reduce((sum, { records }) => sum + records, 0),
    100,
  );
  assert.deepEqual([slices.length, slices.at(-1)!.records], [11, 10]);
});

test('more partitions than a run may have are refused, with what to do', async () => {
  const events = reading(partitions_max + 1, 'toString(number)');
  const by_event = { keys: ['event'] as const, timezone: 'UTC' };
  const refused = cutPartitions(store(), events, by_event, undefined, signal);
  await assert.rejects(refused, (error: unknown) => {
    assert.ok(error instanceof NonRetryableError);
    assert.equal(error.code, 'too_many_partitions');
    assert.match(error.message, /more than 1000 files.*by date alone/);
    return true;
  });
  const enough = reading(partitions_max, 'toString(number)');
  const cut = await cutPartitions(store(), enough, by_event, undefined, signal);
  assert.equal(cut.length, partitions_max);
});
