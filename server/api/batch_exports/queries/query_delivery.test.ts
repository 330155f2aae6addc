import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { parquetReadObjects } from 'hyparquet';
import sql from 'sql-template-tag';
import { openQueryHouse } from '../../../../test/factories/query_exports.ts';
import type { QueryHouse, TestEvent, TestRun } from '../../../../test/factories/query_exports.ts';

let exporting: QueryHouse;
before(async () => {
  exporting = await openQueryHouse();
});
after(() => exporting.close());

/** Two events in each of the first three hours of 2026. */
const six: TestEvent[] = Array.from({ length: 6 }, (_, n) => ({
  event: n % 2 === 0 ? 'view' : 'buy',
  at: `2026-01-01T0${Math.floor(n / 2)}:10:00.00000${n}Z`,
  distinct_id: `d${n % 3}`,
  properties: { n, price: n * 1.5 },
}));
const to = (prefix: string, config: object = {}) => ({
  destination: { type: 'File', config: { prefix, ...config } },
});
const linesOf = (bytes: Buffer | undefined): unknown[] =>
  String(bytes ?? '')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as unknown);
const statuses = (runs: TestRun[]) =>
  runs.map(({ status, records_completed }) => `${status} ${records_completed}`);

async function deliver(prefix: string, custom_query: string | null, more: object = {}) {
  const home = await exporting.house.newOrganization();
  await exporting.insert(home, six, [
    { distinct_id: 'd0', at: '2025-12-01T00:00:00Z', version: 1, properties: { plan: 'free' } },
    { distinct_id: 'd0', at: '2026-01-01T01:30:00Z', version: 2, properties: { plan: 'pro' } },
    { distinct_id: 'd1', at: '2025-12-01T00:00:00Z', version: 1, properties: { plan: 'team' } },
  ]);
  const made = await exporting.scheduled(home, { ...to(prefix), ...more, custom_query });
  const runs = await exporting.runAll(made.id);
  return { home, made, runs, hours: (await exporting.filesIn(prefix, '.jsonl')).map(linesOf) };
}

const own_columns =
  'SELECT event AS kind, properties.price::Float64 AS price, properties.n::Int64 + 1 AS next, ' +
  "timestamp AS at, properties FROM events WHERE event = 'buy'";

test('each format has the columns of the query, each interval its rows, and the receipt says both', async () => {
  const { made, runs, hours } = await deliver('own', own_columns);
  assert.deepEqual(statuses(runs), ['Completed 1', 'Completed 1', 'Completed 1']);
  assert.deepEqual(
    hours,
    [1, 3, 5].map((n) => [
      {
        kind: 'buy',
        price: n * 1.5,
        next: n + 1,
        at: six[n]!.at,
        properties: { n, price: n * 1.5 },
      },
    ]),
  );
  const receipt = (await made.get(`runs/${runs[0]!.id}/receipt/`)).body;
  assert.deepEqual(
    receipt.columns.map(
      (column: { name: string; type: string }) => `${column.name} ${column.type}`,
    ),
    ['kind text', 'price float', 'next integer', 'at timestamp', 'properties json'],
  );
  await deliver('own_csv', own_columns, to('own_csv', { file_format: 'CSV' }));
  const [csv] = await exporting.filesIn('own_csv', '.csv');
  assert.equal(
    String(csv),
    '"kind","price","next","at","properties"\n"buy",1.5,2,"2026-01-01T00:10:00.000001Z","{""n"":1,""price"":1.5}"\n',
  );
  await deliver('own_parquet', own_columns, to('own_parquet', { file_format: 'Parquet' }));
  const [parquet] = await exporting.filesIn('own_parquet', '.parquet');
  const [row] = await parquetReadObjects({ file: new Uint8Array(parquet!).buffer });
  assert.deepEqual(
    { ...row, at: undefined },
    { kind: 'buy', price: 1.5, next: 2n, at: undefined, properties: '{"n":1,"price":1.5}' },
  );
});

test('aggregates are those of each interval; intervals without rows complete and leave no file', async () => {
  const { hours } = await deliver(
    'sums',
    'SELECT event, count() AS n, sum(properties.n) AS total FROM events GROUP BY event ORDER ' +
      'BY event DESC',
  );
  assert.deepEqual(
    hours,
    [0, 2, 4].map((n) => [
      { event: 'view', n: 1, total: n },
      { event: 'buy', n: 1, total: n + 1 },
    ]),
  );
  const none = await deliver(
    'none',
    "SELECT event, count() AS n FROM events WHERE event = 'nothing' GROUP BY event",
  );
  assert.deepEqual(
    [statuses(none.runs), none.hours],
    [['Completed 0', 'Completed 0', 'Completed 0'], []],
  );
});

test(
  'a look-up of persons is as of the end of the run; UNION ALL puts events and changed persons ' +
    'under each other',
  async () => {
    const joined = await deliver(
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
      'both',
      "SELECT 'event' AS kind, distinct_id FROM events WHERE event = 'buy' UNION ALL SELECT " +
        "'person', distinct_id FROM persons",
    );
    assert.deepEqual(
      both.hours.map((rows) => rows.length),
      [1, 2, 1],
    );
    const changed = await deliver(
      'changed',
      'SELECT distinct_id, properties.plan AS plan FROM persons',
      { model: 'persons' },
    );
    assert.deepEqual(
      [statuses(changed.runs), changed.hours],
      [['Completed 0', 'Completed 1', 'Completed 0'], [[{ distinct_id: 'd0', plan: 'pro' }]]],
    );
  },
);

test('names that mean something to the store or to a format are only names', async () => {
  const names = [
    '__column_0',
    'column_2',
    'order_1',
    'inserted_at',
    'uuid',
    'team_id',
    `a"b'c\`d\\e, \n;--{p0:String}`,
    'ä😀',
    'SELECT',
    '%s',
  ];
  const list = names
    .map(
      (name, index) =>
        `concat(event, '${index}') AS \`${name.replaceAll('\\', '\\\\').replaceAll('`', '\\`')}\``,
    )
    .join(', ');
  for (const [file_format, end] of [
    ['JSONLines', '.jsonl'],
    ['CSV', '.csv'],
    ['Parquet', '.parquet'],
  ] as const) {
    const prefix = `names_${file_format}`;
    const { runs } = await deliver(
      prefix,
      `SELECT ${list}, properties FROM events WHERE event = 'buy'`,
      to(prefix, { file_format }),
    );
    assert.deepEqual(statuses(runs), ['Completed 1', 'Completed 1', 'Completed 1'], file_format);
    const [bytes] = await exporting.filesIn(prefix, end);
    if (file_format === 'CSV') {
      assert.equal(
        String(bytes).split(/(?<=_column_0.*properties"\n)/s)[0],
        `${[...names, 'properties'].map((name) => `"${name.replaceAll('"', '""')}"`).join(',')}\n`,
      );
      continue;
    }
    const [row] =
      file_format === 'Parquet'
        ? await parquetReadObjects({ file: new Uint8Array(bytes!).buffer })
        : (linesOf(bytes) as Record<string, unknown>[]);
    assert.deepEqual(
      Object.entries(row!).slice(0, -1),
      names.map((name, index) => [name, `buy${index}`]),
      file_format,
    );
  }
});

test(
  'a backfill runs the query over what happened in each interval, and a dry run says how many ' +
    'rows that are',
  async () => {
    const rowWise = await deliver('filled', 'SELECT properties.n AS n FROM events');
    const range = { start_at: '2026-01-01T00:00:00Z', end_at: '2026-01-01T03:00:00Z' };
    const total = async ({ made }: typeof rowWise, mode: string) =>
      (await made.send('POST', 'backfill/', { ...range, mode, dry_run: true })).body.backfill
        .progress.records_total_count;
    assert.deepEqual([await total(rowWise, 'missing'), await total(rowWise, 'all')], [0, 6]);
    const grouped = await deliver('grouped', 'SELECT count() AS n FROM events');
    // An aggregate without GROUP BY gives a row over no rows too.
    assert.deepEqual([await total(grouped, 'missing'), await total(grouped, 'all')], [3, 3]);
    const { backfill } = (await grouped.made.send('POST', 'backfill/', { ...range, mode: 'all' }))
      .body;
    await exporting.advance(grouped.made.id, backfill.id);
    assert.deepEqual(
      (await exporting.filesIn('grouped', '.jsonl')).map(linesOf),
      [1, 2, 3, 4, 5, 6].map(() => [{ n: 2 }]),
    );
    const tooLong = await grouped.made.send('POST', 'backfill/', {
      start_at: '2020-01-01T00:00:00Z',
      end_at: '2026-01-01T03:00:00Z',
      mode: 'all',
      dry_run: true,
    });
    assert.deepEqual([tooLong.status, tooLong.body.attr], [400, 'start_at']);
  },
);

test(
  'the plan of a dry run is what the backfill then does, whatever is counted and however it is ' +
    'cut',
  async () => {
    type Planned = {
      data_interval_start: string;
      data_interval_end: string;
      records_total_count: number;
      backfill?: string;
    };
    const planned = ({ data_interval_start, data_interval_end, records_total_count }: Planned) => [
      data_interval_start,
      data_interval_end,
      records_total_count,
    ];
    // With the times to select by, and the number of rows that the schedule has delivered; null
    // where runs are counted one by one.
    const cases: [string, string | null, object, string[], number | null][] = [
      [
        'plan_events',
        null,
        to('plan_events', { exclude_events: ['view'] }),
        ['timestamp', 'inserted_at'],
        3,
      ],
      ['plan_persons', null, { model: 'persons' }, ['inserted_at'], 3],
      ['plan_days', null, { interval: 'day' }, ['timestamp'], 2],
      ['plan_weeks', null, { interval: 'week' }, ['timestamp'], 2],
      [
        'plan_rows',
        "SELECT event FROM events WHERE event = 'buy'",
        {},
        ['timestamp', 'inserted_at'],
        3,
      ],
      [
        'plan_now',
        'SELECT event FROM events WHERE timestamp < now() - INTERVAL 40 MINUTE',
        {},
        ['timestamp'],
        null,
      ],
      [
        'plan_groups',
        'SELECT event, count() AS n FROM events GROUP BY event',
        {},
        ['timestamp'],
        null,
      ],
    ];
    for (const [prefix, query, more, times, delivered] of cases) {
      const { home, made } = await deliver(prefix, query, more);
      // Days of Noronha turn at 02:00 in UTC. One event was taken in after the scheduled runs, and
      // one person changed in two hours.
      await exporting.house.deps.db.run(
        sql`UPDATE batch_exports SET timezone = 'America/Noronha' WHERE id = ${made.id}`,
      );
      const changes = [1, 2].map((version) => ({
        distinct_id: 'd7',
        at: `2026-01-01T0${version}:59:00Z`,
        version,
      }));
      await exporting.insert(home, [{ event: 'buy', at: '2026-01-01T03:20:00Z' }], changes);
      for (const [index, by] of times.entries()) {
        for (const mode of index === 0 ? ['missing', 'all'] : ['all']) {
          const range = {
            start_at: '2026-01-01T00:05:00Z',
            end_at: '2026-01-01T03:30:00.5Z',
            by,
            mode,
          };
          const { backfill: dry } = (
            await made.send('POST', 'backfill/', { ...range, dry_run: true })
          ).body;
          const { backfill } = (await made.send('POST', 'backfill/', range)).body;
          await exporting.advance(made.id, backfill.id);
          const runs: Planned[] = (await made.get('runs/?ordering=data_interval_start&limit=1000'))
            .body.results;
          const done = runs.filter(
            (run) => run.backfill === backfill.id && run.records_total_count > 0,
          );
          const name = `${prefix} ${by} ${mode}`;
          assert.deepEqual(dry.plan.runs.map(planned), done.map(planned), name);
          assert.equal(dry.plan.runs_with_records, done.length, name);
          if (mode === 'missing') assert.equal(dry.plan.records_delivered_count, delivered, name);
          assert.deepEqual(
            [dry.start_at, dry.end_at, dry.runs, dry.by],
            [backfill.start_at, backfill.end_at, backfill.runs, backfill.by],
            name,
          );
          const { progress } = (await made.get(`backfills/${backfill.id}/`)).body;
          assert.equal(dry.progress.records_total_count, progress.records_total_count, name);
        }
      }
    }
  },
);

test('two projects whose rows bear marks never see each other', async () => {
  const queries = [
    'SELECT properties.mark AS mark FROM events',
    'SELECT groupUniqArray(properties.mark) AS marks, count() AS n FROM events',
    'SELECT e.properties.mark AS mark, f.properties.mark AS other FROM events e JOIN events f ' +
      'ON e.event = f.event',
    'SELECT properties.mark AS mark FROM events WHERE distinct_id IN (SELECT distinct_id FROM ' +
      'persons) UNION ALL SELECT properties.mark FROM persons',
  ];
  const homes = [await exporting.house.newOrganization(), await exporting.house.newOrganization()];
  for (const [index, home] of homes.entries()) {
    const properties = { mark: `mark ${index}` };
    const at = '2026-01-01T00:20:00Z';
    await exporting.insert(
      home,
      [{ event: 'same', at, distinct_id: 'same', properties }],
      [{ distinct_id: 'same', at, version: 1, properties }],
    );
  }
  for (const [index, home] of homes.entries()) {
    for (const [number, custom_query] of queries.entries()) {
      const prefix = `marks_${index}_${number}`;
      const made = await exporting.scheduled(home, { ...to(prefix), custom_query });
      await exporting.runAll(made.id);
      const text = String(Buffer.concat(await exporting.filesIn(prefix, '.jsonl')));
      assert.ok(text.includes(`mark ${index}`) && !text.includes(`mark ${1 - index}`), text);
    }
  }
});

test('a query with more literals than an address of 16 KB holds is delivered', async () => {
  const long = 'x'.repeat(60_000);
  const { runs, hours } = await deliver('long', `SELECT event, length('${long}') AS n FROM events`);
  assert.deepEqual(statuses(runs), ['Completed 2', 'Completed 2', 'Completed 2']);
  assert.deepEqual(hours[0], [
    { event: 'view', n: long.length },
    { event: 'buy', n: long.length },
  ]);
});
