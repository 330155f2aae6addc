// The cost of the columns and the projection of groups in an insert: the processor time that
// ClickHouse takes for batches of events into the table of the product, beside the same table
// without them, in turn; and for the merge of the parts that came so.
//   npm run bench group_columns [-- --batches 40 --rounds 3 --calls 3]
// `--calls`: per cent of the events that are `$groupidentify`.
import { readBenchOptions, tell } from './measure/figures.ts';
import { processorTime } from './measure/processor_time.ts';
import { openTestClickHouse } from '../test/harness_stores.ts';

const options = readBenchOptions({ batches: '40', rounds: '3', calls: '0,3' });
const batch = 10_000;
const tables = ['events', 'events_without'] as const;

const { clickhouse, close } = await openTestClickHouse();
const run = (query: string) => clickhouse.command({ query });

/** Seconds of processor time of the store; this process is idle meanwhile. */
async function used(work: () => Promise<unknown>): Promise<number> {
  const before = processorTime(process.pid, 'with children');
  await work();
  return (processorTime(process.pid, 'with children') - before) / 1e6;
}

const properties = `concat('{"$browser":"Chrome","$browser_version":', toString(100 + number % 30),
  ',"$os":"Windows","$device_id":"', toString(generateUUIDv4(number)),
  '","$session_id":"', toString(generateUUIDv4(number % 500)),
  '","$current_url":"https://shop.example/products/', toString(number % 5000),
  '?ref=mail","$pathname":"/products/', toString(number % 5000),
  '","$referrer":"https://search.example/","$screen_height":900,"$screen_width":1440,',
  '"$lib_version":"1.298.0","amount":', toString(number % 10007 / 100), ',"plan":"pro"')`;

/** Fills `batch` with events, a percentage of which sets the properties of a group. */
async function plant(calls: number): Promise<void> {
  await run('DROP TABLE IF EXISTS batch');
  await run(
    `CREATE TABLE batch ENGINE = Memory AS SELECT toInt64(1) AS team_id,
      generateUUIDv4(number) AS uuid, number % 100 < ${calls} AS is_call,
      if(is_call, '$groupidentify', 'order placed') AS event,
      toString(number % 500) AS distinct_id, generateUUIDv4(number % 500) AS person_id,
      concat(${properties}, if(is_call, concat(',"$group_type":"company","$group_key":"acme-',
        toString(number % 700), '","$group_set":{"plan":"pro","seats":25.50}'), ''), '}')
        AS properties,
      toDateTime64('2026-01-01 00:00:00', 6, 'UTC') + number / 1000 AS timestamp
      FROM numbers(${batch})`,
  );
}

const insert = (table: string, number: number) =>
  run(
    `INSERT INTO ${table} (team_id, uuid, event, distinct_id, person_id, properties, timestamp,
        created_at, inserted_at)
      SELECT team_id, uuid, event, distinct_id, person_id, properties, timestamp, timestamp,
        toDateTime64('2026-01-02 00:00:00', 6, 'UTC') + ${number} FROM batch`,
  );

try {
  await run('CREATE TABLE events_without AS events');
  await run(
    'ALTER TABLE events_without DROP PROJECTION groups, DROP COLUMN group_set, ' +
      'DROP COLUMN group_number, DROP COLUMN group_at, DROP COLUMN group_id',
  );
  for (const calls of options.calls.split(',').map(Number)) {
    const inserts = { events: [] as number[], events_without: [] as number[] };
    const merges = { events: [] as number[], events_without: [] as number[] };
    await plant(calls);
    for (let round = 0; round < Number(options.rounds); round += 1) {
      const sums = { events: 0, events_without: 0 };
      for (const table of tables) {
        await run(`TRUNCATE TABLE ${table}`);
        await run(`SYSTEM STOP MERGES ${table}`);
      }
      for (let number = 0; number < Number(options.batches); number += 1)
        for (const table of number % 2 === 0 ? tables : tables.toReversed())
          sums[table] += await used(() => insert(table, number));
      for (const table of tables) {
        inserts[table].push(sums[table]);
        await run(`SYSTEM START MERGES ${table}`);
        merges[table].push(await used(() => run(`OPTIMIZE TABLE ${table} FINAL`)));
      }
    }
    const beside = 'without the columns and the projection';
    const what = `${options.batches} batches of 10,000 events, ${calls} % of them calls`;
    const figure = { unit: 's of processor time', better: 'less' } as const;
    for (const [step, times] of Object.entries({ insert: inserts, merge: merges }))
      tell({
        what: `${step}, ${what}`,
        ...figure,
        ours: times.events,
        beside: { name: beside, rounds: times.events_without },
      });
  }
} finally {
  await close();
}
