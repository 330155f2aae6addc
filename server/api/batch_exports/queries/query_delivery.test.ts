import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parquetReadObjects } from 'hyparquet';
import { aroundTests } from '../../../../test/around_tests.ts';
import { is_deep } from '../../../../test/depth.ts';
import { openQueryHarness } from '../../../../test/factories/batch_exports/query_exports.ts';
import {
  deliver,
  six_events,
  statuses,
  toFolder,
} from '../../../../test/factories/batch_exports/query_deliveries.ts';

const exporting = aroundTests(openQueryHarness);

const own_columns =
  'SELECT event AS kind, properties.price::Float64 AS price, properties.n::Int64 + 1 AS next, ' +
  "timestamp AS at, properties FROM events WHERE event = 'buy'";

test('formats have the columns of the query, intervals its rows, the receipt both', async () => {
  const { created, runs, hours } = await deliver(exporting, 'own', own_columns, {}, 2);
  assert.deepEqual(statuses(runs), ['Completed 1', 'Completed 1']);
  assert.deepEqual(
    hours,
    [1, 3].map((n) => [
      {
        kind: 'buy',
        price: n * 1.5,
        next: n + 1,
        at: six_events[n]!.at,
        properties: { n, price: n * 1.5 },
      },
    ]),
  );
  const receipt = (await created.get(`runs/${runs[0]!.id}/receipt/`)).body;
  assert.deepEqual(
    receipt.columns.map(
      (column: { name: string; type: string }) => `${column.name} ${column.type}`,
    ),
    ['kind text', 'price float', 'next integer', 'at timestamp', 'properties json'],
  );
  const toCsv = toFolder('own_csv', { file_format: 'CSV' });
  await deliver(exporting, 'own_csv', own_columns, toCsv, 1);
  const [csv] = await exporting.filesIn('own_csv', '.csv');
  assert.equal(
    String(csv),
    '"kind","price","next","at","properties"\n' +
      '"buy",1.5,2,"2026-01-01T00:10:00.000001Z","{""n"":1,""price"":1.5}"\n',
  );
  await deliver(
    exporting,
    'own_parquet',
    own_columns,
    toFolder('own_parquet', { file_format: 'Parquet' }),
    1,
  );
  const [parquet] = await exporting.filesIn('own_parquet', '.parquet');
  const [row] = await parquetReadObjects({ file: new Uint8Array(parquet!).buffer });
  assert.deepEqual(
    { ...row, at: undefined },
    { kind: 'buy', price: 1.5, next: 2n, at: undefined, properties: '{"n":1,"price":1.5}' },
  );
});

test('aggregates are those of each interval; those without rows leave no file', async () => {
  const { hours } = await deliver(
    exporting,
    'sums',
    'SELECT event, count() AS n, sum(properties.n) AS total FROM events GROUP BY event ORDER ' +
      'BY event DESC',
    {},
    2,
  );
  assert.deepEqual(
    hours,
    [0, 2].map((n) => [
      { event: 'view', n: 1, total: n },
      { event: 'buy', n: 1, total: n + 1 },
    ]),
  );
  const none = await deliver(
    exporting,
    'none',
    "SELECT event, count() AS n FROM events WHERE event = 'nothing' GROUP BY event",
    {},
    1,
  );
  assert.deepEqual([statuses(none.runs), none.hours], [['Completed 0'], []]);
});

test('a query looks persons up as of the end of the run; UNION ALL adds them', async () => {
  const joined = await deliver(
    exporting,
    'joined',
    'SELECT e.properties.n AS n, p.properties.plan AS plan FROM events e LEFT JOIN persons p ' +
      'ON e.distinct_id = p.distinct_id ORDER BY n',
  );
  assert.deepEqual(joined.hours, [
    [
      { n: '0', plan: 'free' },
      { n: '1', plan: 'team' },
    ],
    [
      { n: '2', plan: null },
      { n: '3', plan: 'pro' },
    ],
    [
      { n: '4', plan: 'team' },
      { n: '5', plan: null },
    ],
  ]);
  const both = await deliver(
    exporting,
    'both',
    "SELECT 'event' AS kind, distinct_id FROM events WHERE event = 'buy' UNION ALL SELECT " +
      "'person', distinct_id FROM persons",
    {},
    2,
  );
  assert.deepEqual(
    both.hours.map((rows) => rows.length),
    [1, 2],
  );
  const changed = await deliver(
    exporting,
    'changed',
    'SELECT distinct_id, properties.plan AS plan FROM persons',
    { model: 'persons' },
    2,
  );
  assert.deepEqual(
    [statuses(changed.runs), changed.hours],
    [['Completed 0', 'Completed 1'], [[{ distinct_id: 'd0', plan: 'pro' }]]],
  );
});

test('two projects whose rows bear marks never see each other', async () => {
  const queries = [
    'SELECT properties FROM events',
    'SELECT groupUniqArray(event) AS marks, count() AS n FROM events',
    'SELECT e.event AS mark, f.event AS other FROM events e JOIN events f ' +
      'ON e.distinct_id = f.distinct_id',
    'SELECT properties FROM events WHERE distinct_id IN (SELECT distinct_id FROM ' +
      'persons) UNION ALL SELECT properties FROM persons',
  ];
  const homes = [
    await exporting.harness.newOrganization(),
    await exporting.harness.newOrganization(),
  ];
  for (const [index, home] of homes.entries()) {
    const event = `mark ${index}`;
    const properties = { mark: event };
    const at = '2026-01-01T00:20:00Z';
    await exporting.insert(
      home,
      [{ event, at, distinct_id: 'same', properties }],
      [{ distinct_id: 'same', at, version: 1, properties }],
    );
  }
  for (const [index, home] of homes.entries()) {
    for (const [number, custom_query] of queries.entries()) {
      // Either project asks every second one; with --deep both ask each.
      if (!is_deep && number % 2 !== index) continue;
      const prefix = `marks_${index}_${number}`;
      const created = await exporting.scheduled(home, { ...toFolder(prefix), custom_query }, 1);
      await exporting.runAll(created.id);
      const text = String(Buffer.concat(await exporting.filesIn(prefix, '.jsonl')));
      assert.ok(text.includes(`mark ${index}`) && !text.includes(`mark ${1 - index}`), text);
    }
  }
});

test('a query with more literals than an address of 16 KB holds is delivered', async () => {
  const long = 'x'.repeat(60_000);
  const { runs, hours } = await deliver(
    exporting,
    'long',
    `SELECT event, length('${long}') AS n FROM events`,
    {},
    1,
  );
  assert.deepEqual(statuses(runs), ['Completed 2']);
  assert.deepEqual(hours[0], [
    { event: 'view', n: long.length },
    { event: 'buy', n: long.length },
  ]);
});
