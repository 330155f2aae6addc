import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aroundTests } from '../../../../test/around_tests.ts';
import { openTestClickHouse } from '../../../../test/harness_stores.ts';
import { NonRetryableError } from '../../model/destination/errors.ts';
import type { Partition, PartitionKey, TablePartition } from '../../model/destination/partition.ts';
import type { Column } from '../../model/models/column.ts';
import { openQueryBudget } from '../../query/query_budget.ts';
import { cutPartitions, partitions_max } from './cut_partitions.ts';
import { folderParting, isInPartition, tableParting } from './partitions.ts';
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
const folders = (source: ReturnType<typeof reading>, keys: PartitionKey[], timezone: string) => ({
  parting: folderParting(source, { keys, timezone }),
  columns: [],
});
const both = (source: ReturnType<typeof reading>) =>
  folders(source, ['date', 'event'], 'Europe/Berlin');

test('every row lies in the one slice of its day and its event', async () => {
  const events = "['a', '', repeat('/', 81), repeat('/', 80), 'é', unhex('ff')][number % 6 + 1]";
  const source = reading(60, events);
  const slices = await cutPartitions(store(), source, both(source), undefined, signal);
  assert.deepEqual(
    slices.map(({ number, partition, records }) => [
      number,
      (partition as Partition).date,
      (partition as Partition).event,
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
    const { where, parameters } = boundsOf(source, slice, []);
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
  const by_event = folders(source, ['event'], 'UTC');
  const slices = await cutPartitions(store(), source, by_event, bound, signal);
  assert.equal(
    slices.reduce((sum, { records }) => sum + records, 0),
    100,
  );
  assert.deepEqual([slices.length, slices.at(-1)!.records], [11, 10]);
});

test('more partitions than a run may have are refused, with what to do', async () => {
  const events = reading(partitions_max + 1, 'toString(number)');
  const by_event = folders(events, ['event'], 'UTC');
  const refused = cutPartitions(store(), events, by_event, undefined, signal);
  await assert.rejects(refused, (error: unknown) => {
    assert.ok(error instanceof NonRetryableError);
    assert.equal(error.code, 'too_many_partitions');
    assert.match(error.message, /more than 1000 partitions.*fewer or longer partitions/);
    return true;
  });
  const enough = reading(partitions_max, 'toString(number)');
  const cut = await cutPartitions(store(), enough, by_event, undefined, signal);
  assert.equal(cut.length, partitions_max);
});

const own = (name: string, type: Column['type'], nullable = false): Column => ({
  name,
  type,
  nullable,
  expression: name,
});

test('partitions of a table are those of the specification', async () => {
  const columns = [
    own('at', 'timestamp'),
    own('text', 'text', true),
    own('number', 'integer'),
    own('is_set', 'boolean'),
    own('day', 'date'),
    own('id', 'uuid'),
  ];
  const source = {
    ...reading(0, "''"),
    text: `(SELECT arrayJoin([
      (toDateTime64('2017-11-16 22:31:08', 6, 'UTC'), 'iceberg', 34),
      (toDateTime64('1969-12-31 23:59:59.999999', 6, 'UTC'), NULL, 17486),
      (toDateTime64('1968-12-31 23:59:59', 6, 'UTC'), '', -1)]) AS row,
      row.1 AS at, row.2 AS text, toInt64(row.3) AS number, number > 0 AS is_set,
      toDate32(at) AS day, toUUID('F79C3E09-677C-4BBD-A479-3F349CB785E7') AS id,
      toDateTime64('2026-01-01 00:00:00', 6, 'UTC') AS inserted_at, number AS uuid)`,
  };
  const told = async (column: string, transform: string) => {
    const fields = [{ column, transform }];
    const cut = { parting: tableParting(columns, fields), columns, is_whole: true };
    const slices = await cutPartitions(store(), source, cut, undefined, signal);
    for (const slice of slices) {
      const { where, parameters } = boundsOf(source, slice, columns);
      const [row] = await stores.clickhouse.rows<{ n: string }>({
        query: `SELECT count() AS n FROM ${source.text}${where}`,
        query_params: parameters,
      });
      assert.equal(Number(row!.n), slice.records, `${transform} of ${column}`);
    }
    return slices.map(({ partition }) => (partition as TablePartition).values[0]).sort();
  };
  const bucket = (hash: number, buckets: number) => String((hash & 0x7f_ff_ff_ff) % buckets);
  assert.deepEqual(await told('at', 'day'), ['-1', '-366', '17486']);
  assert.deepEqual(await told('at', 'hour'), ['-1', '-8761', '419686']);
  assert.deepEqual(await told('at', 'month'), ['-1', '-13', '574']);
  assert.deepEqual(await told('text', 'identity'), ['', 'iceberg', null]);
  assert.deepEqual(
    await told('text', 'bucket[100]'),
    [bucket(1_210_000_089, 100), bucket(0, 100), null].sort(),
  );
  assert.deepEqual(
    await told('number', 'bucket[1000]'),
    [
      bucket(2_017_239_379, 1_000),
      bucket(-653_330_422, 1_000),
      bucket(1_651_860_712, 1_000),
    ].sort(),
  );
  assert.deepEqual(await told('number', 'identity'), ['-1', '17486', '34']);
  assert.deepEqual(await told('is_set', 'identity'), ['false', 'true']);
  assert.deepEqual(await told('day', 'identity'), ['-1', '-366', '17486']);
  assert.deepEqual(await told('id', 'identity'), ['f79c3e09-677c-4bbd-a479-3f349cb785e7']);
});

test('a source that cannot be cut is parted, and a part of a table can stay whole', async () => {
  const columns = [own('event', 'text')];
  const cut = {
    parting: tableParting(columns, [{ column: 'event', transform: 'identity' }]),
    columns,
  };
  const { key: _, ...unkeyed } = reading(9, "['a', 'b', 'c'][number % 3 + 1]");
  const slices = await cutPartitions(
    store(),
    { ...unkeyed, key: undefined },
    cut,
    undefined,
    signal,
  );
  assert.deepEqual(
    slices.map(({ inserted_from, records }) => [inserted_from, records]),
    [
      [null, 3],
      [null, 3],
      [null, 3],
    ],
  );
  const whole = { parting: tableParting(columns, []), columns, is_whole: true };
  const large = reading(100, "repeat('x', 90)");
  const bound = {
    bytes_max: 1_000,
    encoding: { format: 'JSONLines', compression: null } as const,
    columns,
    is_rough: false,
  };
  const [one, ...more] = await cutPartitions(store(), large, whole, bound, signal);
  assert.deepEqual([one!.records, more.length], [100, 0]);
  assert.deepEqual(await cutPartitions(store(), reading(0, "''"), whole, bound, signal), []);
});
