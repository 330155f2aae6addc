// Exports generated rows of every type to an Iceberg table and lets DuckDB, PyIceberg, polars,
// Spark, ClickHouse and iceberg-go read it, by its metadata file and through our catalog:
// npm run lake [-- --python python3 --seed 1 --hours 3 --events 500 --reader spark
// --store seaweedfs].
// Installs them into peers/lake/ once; Spark wants java and mvn, iceberg-go wants go. Each must
// read the rows of the source, value by value, after each commit and after a column was added; of a
// partitioned and sorted table, a merged and a replaced one, one of version 3 with the ids of its
// rows, and one whose types were widened; and again after a person was erased. At the end it runs
// what the page of a table says about reading it. Exit code 1 otherwise.
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import sql from 'sql-template-tag';
import { readWays } from '../../console/lake_tables/read_ways.ts';
import { openQueryHarness } from '../../test/factories/batch_exports/query_exports.ts';
import { erasing } from '../../test/factories/events/erasures.ts';
import { drawsOf } from '../../test/factories/events/generated_json.ts';
import { installSeaweedfs, startSeaweedfs } from '../../test/servers/lake/seaweedfs.ts';
import { readOptions } from '../options.ts';
import { compareRows, takeLineage } from './lake/compare.ts';
import type { Expected, Lineage } from './lake/compare.ts';
import { jar, packages, startReaders } from './lake/readers.ts';
import type { Reading, Row } from './lake/readers.ts';
import { erased_id, latestOf, rowOf } from './lake/rows.ts';

const { python, seed, hours, events, reader, store } = readOptions({
  python: 'python3',
  seed: 1,
  hours: 3,
  events: 500,
  reader: '',
  store: '',
});
/** Columns of a query with every type that an export can have, and the later ones. */
const columns =
  'uuid event distinct_id properties timestamp note amount ratio ' +
  'day price special born_at born_on is_first';
const later_columns = `${columns} added fixed`;
const mode_columns = 'uuid event distinct_id properties timestamp note amount ratio number';
const mode_query =
  'SELECT uuid, event, distinct_id, properties, timestamp, properties.note AS note, ' +
  'toInt(properties.amount) AS amount, toFloat(properties.ratio) AS ratio, ' +
  "toInt(properties.number) AS number FROM events WHERE event = 'mode'";
const merge = { mode: 'merge', primary_key: ['number'], version_key: ['timestamp'] };
/** With `--store seaweedfs`, tables are in a bucket, and readers get keys from the catalog. */
const bucket = store === '' ? undefined : await openBucket();
const place = bucket?.config ?? { storage: 'File', prefix: 'lake' };
/** The ways to deliver the same rows, by table. */
const ways = {
  parted: {
    config: {
      partition_by: ['hour(timestamp)', 'event', 'bucket(4, uuid)'],
      sort_by: ['distinct_id desc', 'timestamp'],
    },
  },
  merged: { config: {}, ...merge },
  replaced: { config: {}, mode: 'replace' },
  numbered: { config: { format_version: 3 } },
  numbered_merged: { config: { format_version: 3 }, ...merge },
};

const exporting = await openQueryHarness(
  bucket && { config: { sts_endpoint_url: bucket.endpoint } },
);
const peer = await startReaders(python, bucket !== undefined);
const draw = drawsOf(seed);
/** The rows and columns that each table must have now. */
const expected = new Map<string, Expected>();
const row_ids = new Map<string, Lineage['ids']>();
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
  await followColumns();
  await followModes();
  if (bucket === undefined) await widenTypes();
  await erase();
  await runWays();
  console.log(
    `${packages.join(' ')}: ${readings} readings, ${values} values compared, seed ${seed}; ` +
      `${faults.length} wrong`,
  );
  process.exitCode = faults.length === 0 ? 0 : 1;

  /** Delivers rows of every type, hour by hour, then those of an export with more columns. */
  async function followColumns(): Promise<void> {
    const rows: Row[] = [];
    const first = await newExport('generated', '');
    for (let hour = 1; hour <= hours; hour += 1) {
      await insert(hour, 'generated', rows);
      await deliver(first, hour);
      await compare('all_events', { columns, rows });
    }
    const wider = await newExport('later', ", toInt(properties.amount) + 0 AS added, 'x' AS fixed");
    await insert(1, 'later', rows);
    await deliver(wider, 1);
    await compare('all_events', { columns: later_columns, rows });
  }

  /** Creates an export of the events of one name, with more columns. */
  async function newExport(event: 'generated' | 'later', more: string): Promise<string> {
    const { id } = await exporting.scheduled(
      home,
      {
        name: event,
        destination: { type: 'Iceberg', config: { ...place, table: 'all_events' } },
        custom_query:
          'SELECT uuid, event, distinct_id, properties, timestamp, properties.note AS note, ' +
          'toInt(properties.amount) AS amount, toFloat(properties.ratio) AS ratio, ' +
          'toDate(timestamp) AS day, toDecimalOrNull(properties.price) AS price, ' +
          'toFloat(properties.special) AS special, ' +
          'toDateTimeOrNull(properties.born) AS born_at, ' +
          'toDateOrNull(properties.born) AS born_on, ' +
          `event = 'generated' AS is_first${more} FROM events WHERE event = '${event}' ` +
          'SETTINGS native_types = 1',
      },
      1,
    );
    return id;
  }

  /** Delivers the same rows in each way, hour by hour. A merge keeps the newest row of an order. */
  async function followModes(): Promise<void> {
    const ids = new Map<string, string>();
    for (const [table, { config, ...way }] of Object.entries(ways)) {
      const destination = { type: 'Iceberg', config: { ...place, ...config, table } };
      const body = { name: table, destination, custom_query: mode_query, ...way };
      ids.set(table, (await exporting.scheduled(home, body, 1)).id);
    }
    const rows: Row[] = [];
    for (let hour = 1; hour <= hours; hour += 1) {
      await insert(hour, 'mode', rows);
      for (const [table, id] of ids) {
        const is_merged = table.endsWith('merged');
        await deliver(id, hour);
        await compare(table, {
          columns: mode_columns,
          rows: is_merged ? latestOf(rows) : [...rows],
          key: is_merged ? 'number' : 'uuid',
        });
      }
    }
  }

  /** PyIceberg creates a table of narrower types, with rows; then the export delivers to it. */
  async function widenTypes(): Promise<void> {
    const table = 'other.widened';
    const [created] = await peer.ask<Reading>({ create: true, ...catalog, table });
    if (created?.rows === undefined) throw new Error(`No table: ${created?.error}`);
    const rows = created.rows;
    const { id } = await exporting.scheduled(
      home,
      {
        name: 'widened',
        destination: {
          type: 'Iceberg',
          config: { ...place, namespace: 'other', table: 'widened' },
        },
        custom_query:
          'SELECT uuid, event, toInt(properties.amount) AS amount, ' +
          'toFloat(properties.ratio) AS ratio, toDecimalOrNull(properties.price) AS price ' +
          "FROM events WHERE event = 'wide'",
      },
      1,
    );
    await insert(1, 'wide', rows);
    await deliver(id, 1);
    await compare(table, { columns: 'uuid event amount ratio price', rows });
  }

  /** Erases a person. Only their rows must leave every table. */
  async function erase(): Promise<void> {
    const { ask, work } = erasing(() => exporting);
    const { body } = await ask(home, 'POST', 'erasures/', { distinct_ids: [erased_id] });
    await work(home, body.id);
    for (const [table, { rows, ...more }] of expected) {
      const left = rows.filter((row) => row['distinct_id'] !== erased_id);
      if (left.length === rows.length) throw new Error(`${table} has no rows of the person.`);
      await compare(table, { ...more, rows: left });
    }
  }

  async function insert(hour: number, event: string, into: Row[]): Promise<void> {
    const rows = Array.from({ length: events }, (_, n) => rowOf(draw, { hour, n, event }));
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

  async function compare(name: string, wanted: Expected): Promise<void> {
    expected.set(name, wanted);
    const table = name.includes('.') ? name : `sluice.${name}`;
    const row = await exporting.harness.deps.db.row<{ metadata_location: string }>(
      sql`SELECT metadata_location FROM lake_tables
        WHERE team_id = ${home.project.id} AND name = ${table.split('.')[1]}`,
    );
    const { metadata_location } = row!;
    const metadata = bucket === undefined ? fileURLToPath(metadata_location) : metadata_location;
    const has_lineage = name.startsWith('numbered');
    const ids = row_ids.get(name) ?? new Map<unknown, unknown>();
    row_ids.set(name, ids);
    const lineage = { ids, numbers: new Map<unknown, unknown>() };
    const asked = {
      metadata,
      ...catalog,
      table,
      reader,
      lineage: has_lineage,
      endpoint: bucket?.endpoint,
    };
    for (const found of await peer.ask<Reading>(asked)) judge(found, name, wanted, lineage);
  }

  /** Compares one reading with the expected rows. */
  function judge(found: Reading, name: string, wanted: Expected, lineage: Lineage): void {
    const { reader: by, version, rows, error, skipped } = found;
    if (skipped !== undefined) return console.log(`${by.padEnd(20)} skipped: ${skipped}`);
    readings += 1;
    if (error !== undefined || rows === undefined) {
      console.log(`${by.padEnd(20)} ${version ?? ''} ${error}`);
      return void faults.push(`${by}, ${name}: ${error}`);
    }
    const wrong_ids = takeLineage(rows, wanted.key ?? 'uuid', lineage);
    const told = wrong_ids === undefined ? '' : ', with their ids';
    console.log(`${by.padEnd(20)} ${version ?? ''} ${rows.length} rows of ${name}${told}`);
    const { values: compared, wrong } = compareRows(rows, wanted);
    values += compared + (wrong_ids === undefined ? 0 : 2 * rows.length);
    faults.push(...[...wrong, ...(wrong_ids ?? [])].map((one) => `${by}, ${name}: ${one}`));
  }

  /** Runs the console's commands unchanged, if the console says that they were tested. */
  async function runWays(): Promise<void> {
    const [namespace, name] = ['sluice', 'all_events'];
    const { uri, warehouse: project_id, token } = catalog;
    const metadata_location = bucket === undefined ? '' : 's3://lake/';
    const table = { uri, project_id, namespace, name, metadata_location };
    const texts = readWays(table)
      .filter(({ tried }) => tried.startsWith('Run'))
      .map((way) => ({ ...way, text: way.text.replace('API_KEY', token) }));
    const spoken = Object.fromEntries(
      texts.map(({ reader: by, text }) => [by, text.replace(/iceberg-spark[\w.-]+jar/, jar)]),
    );
    for (const { reader: by, given, error, skipped } of await peer.ask<Reading>({ ways: spoken })) {
      console.log(`${by.padEnd(20)} as the page says: ${skipped ?? error ?? `${given} rows`}`);
      if (skipped === undefined && given !== 10) faults.push(`${by}, as the page says: ${error}`);
    }
  }
} finally {
  for (const fault of faults) console.log(`WRONG ${fault}`);
  await peer.stop();
  await exporting.close();
  await bucket?.close();
}

/** Opens a bucket of SeaweedFS, and returns the config of tables there. */
async function openBucket() {
  await installSeaweedfs(console.log);
  const { endpoint, access_key, secret_key, role_arn, close } = await startSeaweedfs(['lake']);
  const config = {
    storage: 'S3',
    bucket_name: 'lake',
    region: 'us-east-1',
    prefix: 'lake',
    endpoint_url: endpoint,
    aws_access_key_id: access_key,
    aws_secret_access_key: secret_key,
    aws_role_arn: role_arn,
  };
  return { endpoint, config, close };
}
