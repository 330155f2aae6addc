// Exports generated rows of every type to an Iceberg table and lets DuckDB, PyIceberg, polars,
// Spark and iceberg-go read it, by its metadata file and through our catalog:
// npm run lake [-- --python python3 --seed 1 --hours 3 --events 500 --reader spark].
// Installs them into peers/lake/ once; Spark wants java and mvn, iceberg-go wants go. Each must
// read the rows of the source, value by value, after each commit and after a column was added, of a
// partitioned and sorted table, a merged and a replaced one too. At the end it runs what the page
// of a table says about reading it. Exit code 1 otherwise.
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import sql from 'sql-template-tag';
import { readWays } from '../../console/lake_tables/read_ways.ts';
import { openQueryHarness } from '../../test/factories/batch_exports/query_exports.ts';
import { drawsOf, messageText } from '../../test/factories/events/generated_json.ts';
import { readOptions } from '../options.ts';
import { jar, packages, startReaders } from './lake/readers.ts';
import type { Row } from './lake/readers.ts';

const { python, seed, hours, events, reader } = readOptions({
  python: 'python3',
  seed: 1,
  hours: 3,
  events: 500,
  reader: '',
});
/** Decimals with all of their digits, as readers give them. */
const prices = [
  '0.100000000',
  '-12345678901234567890.123456789',
  null,
  '99999999999999999999999999999.999999999',
  '0.000000001',
];

const exporting = await openQueryHarness();
const peer = await startReaders(python);
const draw = drawsOf(seed);
const expected: Row[] = [];
let [readings, values] = [0, 0];
const faults: string[] = [];
try {
  const home = await exporting.harness.newOrganization();
  await exporting.harness.app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = exporting.harness.app.server.address() as AddressInfo;
  const catalog = {
    uri: `http://127.0.0.1:${port}/iceberg`,
    token: home.key,
    warehouse: String(home.project.id),
  };
  const first = await newExport('first', '');
  for (let hour = 1; hour <= hours; hour += 1) {
    await insert(hour, 'generated', expected);
    await deliver(first, hour);
    await compare('all_events', expected);
  }
  const wider = await newExport('later', ", toInt(properties.amount) + 0 AS added, 'x' AS fixed");
  await insert(1, 'later', expected);
  await deliver(wider, 1);
  await compare('all_events', expected);
  await followModes();
  await runWays();
  for (const fault of faults) console.log(`WRONG ${fault}`);
  console.log(
    `${packages.join(' ')}: ${readings} readings, ${values} values compared, seed ${seed}; ` +
      `${faults.length} wrong`,
  );
  process.exitCode = faults.length === 0 ? 0 : 1;

  /** An export of the events of one name, with more columns. */
  async function newExport(name: 'first' | 'later', columns: string): Promise<string> {
    const event = name === 'first' ? 'generated' : 'later';
    const { id } = await exporting.scheduled(
      home,
      {
        name,
        destination: {
          type: 'Iceberg',
          config: { storage: 'File', prefix: 'lake', table: 'all_events' },
        },
        custom_query:
          'SELECT uuid, event, distinct_id, properties, timestamp, properties.note AS note, ' +
          'toInt(properties.amount) AS amount, toFloat(properties.ratio) AS ratio, ' +
          'toDate(timestamp) AS day, toDecimalOrNull(properties.price) AS price, ' +
          `event = 'generated' AS is_first${columns} FROM events WHERE event = '${event}'`,
      },
      1,
    );
    return id;
  }

  /** Delivers the same rows in each way, hour by hour. A merge keeps the latest of an order. */
  async function followModes(): Promise<void> {
    const config = { storage: 'File', prefix: 'lake' };
    const custom_query =
      'SELECT uuid, event, distinct_id, properties, timestamp, properties.note AS note, ' +
      'toInt(properties.amount) AS amount, toFloat(properties.ratio) AS ratio, ' +
      "toInt(properties.number) AS number FROM events WHERE event = 'mode'";
    const partition_by = ['hour(timestamp)', 'event', 'bucket(4, uuid)'];
    const sort_by = ['distinct_id desc', 'timestamp'];
    const merge = { mode: 'merge', primary_key: ['number'], version_key: ['timestamp'] };
    const ways = {
      parted: { config: { ...config, partition_by, sort_by } },
      merged: { config, ...merge },
      replaced: { config, mode: 'replace' },
    };
    const ids = new Map<string, string>();
    for (const [table, { config: own, ...way }] of Object.entries(ways)) {
      const destination = { type: 'Iceberg', config: { ...own, table } };
      const body = { name: table, destination, custom_query, ...way };
      ids.set(table, (await exporting.scheduled(home, body, 1)).id);
    }
    const rows: Row[] = [];
    for (let hour = 1; hour <= hours; hour += 1) {
      await insert(hour, 'mode', rows);
      for (const [table, id] of ids) {
        await deliver(id, hour);
        await compare(table, table === 'merged' ? latestOf(rows) : rows);
      }
    }
  }

  async function insert(hour: number, event: string, into: Row[]): Promise<void> {
    const rows = Array.from({ length: events }, (_, n) => rowOf(hour, n, event));
    const team_id = home.project.id;
    await exporting.harness.deps.clickhouse.insert({
      table: 'events',
      format: 'JSONEachRow',
      values: rows.map(({ uuid, distinct_id, properties, at }) => ({
        team_id,
        uuid,
        event,
        distinct_id,
        person_id: crypto.randomUUID(),
        properties,
        person_properties: '{}',
        elements_chain: '',
        timestamp: at,
        created_at: at,
        inserted_at: at,
      })),
    });
    into.push(...rows.map(({ row }) => row));
  }

  async function deliver(id: string, hour: number): Promise<void> {
    await exporting.extend(id, hour);
    const failed = (await exporting.runAll(id)).find(({ status }) => status !== 'Completed');
    if (failed !== undefined) throw new Error(`A run failed: ${failed.latest_error}`);
  }

  async function compare(name: string, wanted: Row[]): Promise<void> {
    const row = await exporting.harness.deps.db.row<{ metadata_location: string }>(
      sql`SELECT metadata_location FROM lake_tables
        WHERE team_id = ${home.project.id} AND name = ${name}`,
    );
    const metadata = fileURLToPath(row!.metadata_location);
    const table = `sluice.${name}`;
    for (const found of await peer.read({ metadata, ...catalog, table, reader })) {
      const { reader: by, version, rows, error, skipped } = found;
      if (skipped !== undefined) {
        console.log(`${by.padEnd(20)} skipped: ${skipped}`);
        continue;
      }
      readings += 1;
      const told = error ?? `${rows!.length} rows of ${name}`;
      console.log(`${by.padEnd(20)} ${version ?? ''} ${told}`);
      if (error !== undefined) faults.push(`${by}: ${error}`);
      else faults.push(...differences(rows!, wanted).map((one) => `${by}, ${name}: ${one}`));
    }
  }

  /** Runs, as they stand, the texts of the console of which it says that they were run. */
  async function runWays(): Promise<void> {
    const [namespace, name] = ['sluice', 'all_events'];
    const { uri, warehouse: project_id, token } = catalog;
    const table = { uri, project_id, namespace, name, metadata_location: '' };
    const texts = readWays(table)
      .filter(({ tried }) => tried.startsWith('Run'))
      .map((way) => ({ ...way, text: way.text.replace('API_KEY', token) }));
    const ways = Object.fromEntries(
      texts.map(({ reader: by, text }) => [by, text.replace(/iceberg-spark[\w.-]+jar/, jar)]),
    );
    for (const { reader: by, given, error, skipped } of await peer.read({ ways })) {
      console.log(`${by.padEnd(20)} as the page says: ${skipped ?? error ?? `${given} rows`}`);
      if (skipped === undefined && given !== 10) faults.push(`${by}, as the page says: ${error}`);
    }
  }
} finally {
  await peer.stop();
  await exporting.close();
}

/** A row as it is stored, and as a reader is to find it. */
function rowOf(hour: number, n: number, event: string) {
  const uuid = crypto.randomUUID();
  const distinct_id = ['plain', 'ä "quoted" \\ text', '', '😀\n\t', 'NULL', "it's"][n % 6]!;
  const amount = [
    '0',
    '-1',
    '9223372036854775807',
    '-9223372036854775808',
    '9007199254740993',
    null,
  ][n % 6]!;
  const ratio = [0.1, null, -1.5, 1e300, 5e-324, 123456.789][n % 6]!;
  const note = n % 3 === 0 ? null : messageText(draw).slice(0, 2_000);
  const number = String(n % 97);
  const price = prices[n % prices.length]!;
  const properties = JSON.stringify({ amount, ratio, note, number, price });
  const micros = String((n * 7_919) % 1_000_000).padStart(6, '0');
  const at = `2026-01-01 0${hour - 1}:${String(n % 60).padStart(2, '0')}:30.${micros}`;
  const instant = BigInt(Date.parse(`${at.slice(0, 19).replace(' ', 'T')}Z`)) * 1_000n;
  const is_first = event === 'generated';
  return {
    uuid,
    distinct_id,
    properties,
    at,
    row: {
      uuid,
      event,
      distinct_id,
      properties,
      timestamp: String(instant + BigInt(micros)),
      note,
      amount,
      ratio,
      day: at.slice(0, 10),
      price,
      is_first,
      number,
      ...(is_first ? {} : { added: amount, fixed: 'x' }),
    } as Row,
  };
}

/** The row of each number that happened last. */
function latestOf(rows: Row[]): Row[] {
  const latest = new Map<unknown, Row>();
  for (const row of rows) {
    const before = latest.get(row['number']);
    if (
      before === undefined ||
      BigInt(String(row['timestamp'])) > BigInt(String(before['timestamp']))
    )
      latest.set(row['number'], row);
  }
  return [...latest.values()];
}

/** Names the values that differ, a few of them. A column that a file does not have is null. */
function differences(rows: Row[], wanted: Row[]): string[] {
  const found: string[] = [];
  const known = new Map(rows.map((row) => [row['uuid'], row]));
  if (rows.length !== wanted.length || known.size !== wanted.length)
    found.push(`${rows.length} rows, ${known.size} different, instead of ${wanted.length}`);
  for (const row of wanted) {
    const read = known.get(row['uuid']);
    if (read === undefined) found.push(`${String(row['uuid'])} is missing`);
    else
      for (const column of Object.keys(read)) {
        values += 1;
        if (read[column] !== (row[column] ?? null))
          found.push(
            `${column} of ${String(row['uuid'])} is ${JSON.stringify(read[column])} instead of ` +
              JSON.stringify(row[column] ?? null),
          );
      }
  }
  return found.slice(0, 5);
}
