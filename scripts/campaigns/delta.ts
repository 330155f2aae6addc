// Exports generated rows of every type to a Delta table and lets delta-rs, pyarrow, DuckDB, polars,
// ClickHouse (PyPI) and Spark (with jars from Maven) read it: npm run delta [-- --python python3
// --seed 1 --hours 12 --events 200 --rounds 6 --deliveries 200 --kills 50 --store seaweedfs].
// Each must read the rows of the source, value by value, after commits, a checkpoint, an added
// column and the erasure of a person. In `rounds` tables are merged, replaced, parted and compacted
// while delta-rs changes them too, and each reader must see what a model says. Then deliveries with
// lost and late answers and kills go to a table to which delta-rs commits: each must be there once;
// `merges` of them go to a merged table (--merges 60 --merge_kills 20). With `--store`, all but
// Spark read the first table from a bucket, and nothing else is done. `--naive` tries again what
// was not answered, and must fail. Exit code 1 if anything is wrong.
import { join } from 'node:path';
import process from 'node:process';
import { openQueryHarness } from '../../test/factories/batch_exports/query_exports.ts';
import { erasing } from '../../test/factories/events/erasures.ts';
import { drawsOf } from '../../test/factories/events/generated_json.ts';
import { installSeaweedfs, startSeaweedfs } from '../../test/servers/lake/seaweedfs.ts';
import { readOptions } from '../options.ts';
import { playFaults } from './delta/faults.ts';
import { playModes } from './delta/modes.ts';
import { packages, startDeltaPeer } from './delta/peer.ts';
import type { Reading, Row, Store } from './delta/peer.ts';
import { columns, erased_id, rowOf } from './delta/rows.ts';
import { compareRows } from './lake/compare.ts';

const options = readOptions({
  python: 'python3',
  seed: 1,
  hours: 12,
  rounds: 6,
  events: 200,
  deliveries: 200,
  kills: 50,
  merges: 60,
  merge_kills: 20,
  naive: false,
  store: '',
});
const { python, seed, hours, events, kills, merge_kills, naive, store } = options;
const none = { rounds: 0, deliveries: 0, merges: 0 };
const { rounds, deliveries, merges } = store === '' ? options : none;
const peer = await startDeltaPeer(python);
const faults: string[] = [];
const table = 'all_events';
let [readings, values] = [0, 0];
try {
  if (!naive && hours > 0) await readEverywhere();
  if (!naive && rounds > 0)
    faults.push(...(await playModes(peer, { draw: drawsOf(seed), rounds }, judgeAll)));
  const told = async (wanted: Parameters<typeof playFaults>[1], name: string) => {
    const { counts, wrong } = await playFaults(peer, wanted);
    faults.push(...wrong);
    const said = Object.entries(counts).map(([what, count]) => `${what}: ${count}`);
    console.log(`${name}: ${said.join(', ')}`);
  };
  if (deliveries > 0) await told({ seed, deliveries, kills, naive }, 'appended');
  const merging = { seed, deliveries: merges, kills: merge_kills, naive: false, merges: true };
  if (!naive && merges > 0) await told(merging, 'merged');
} finally {
  await peer.stop();
}
for (const fault of faults.slice(0, 20)) console.log(`WRONG ${fault}`);
console.log(
  `${packages.join(' ')}: ${readings} readings, ${values} values compared, seed ${seed}; ` +
    `${faults.length} wrong`,
);
process.exitCode = faults.length === 0 ? 0 : 1;

/** Compares the readings of all readers with the source, while the table grows. */
async function readEverywhere(): Promise<void> {
  const exporting = await openQueryHarness();
  const bucket = store === '' ? undefined : await openBucket();
  const draw = drawsOf(seed);
  const expected: Row[] = [];
  try {
    const home = await exporting.harness.newOrganization();
    const team_id = home.project.id;
    const folder = bucket?.address ?? join(exporting.folder, 'delta', String(team_id), table);
    const config = { ...(bucket?.config ?? { storage: 'File' }), table };
    const newExport = async (name: string, event: string, more: string) => {
      const body = {
        name,
        destination: { type: 'Delta', config },
        custom_query: `SELECT ${columns}${more} FROM events WHERE event = '${event}'`,
      };
      return (await exporting.scheduled(home, body, 1)).id;
    };
    const deliver = async (id: string, event: string, hour: number) => {
      const rows = Array.from({ length: events }, (_, n) => rowOf(draw, { hour, n, event }));
      await exporting.harness.deps.clickhouse.insert({
        table: 'events',
        format: 'JSONEachRow',
        values: rows.map(({ stored }) => ({ team_id, ...stored })),
      });
      expected.push(...rows.map(({ row }) => row));
      await exporting.extend(id, hour);
      const failed = (await exporting.runAll(id)).find(({ status }) => status !== 'Completed');
      if (failed !== undefined) throw new Error(`A run failed: ${failed.latest_error}`);
    };
    const compare = async (rows = expected) => {
      for (const one of await peer.read(folder, bucket?.store)) judge(one, rows);
    };
    const first = await newExport('first', 'generated', '');
    for (let hour = 1; hour <= hours; hour += 1) {
      await deliver(first, 'generated', hour);
      if (hour === 1 || hour === hours) await compare();
    }
    const wider = await newExport('later', 'later', ', toInt(properties.amount) + 0 AS added');
    await deliver(wider, 'later', 1);
    await compare();
    const { ask, work } = erasing(() => exporting);
    const { body } = await ask(home, 'POST', 'erasures/', { distinct_ids: [erased_id] });
    await work(home, body.id);
    await compare(expected.filter((row) => row['distinct_id'] !== erased_id));
  } finally {
    await exporting.close();
    await bucket?.close();
  }
}

/** Opens a bucket of SeaweedFS for the table. */
async function openBucket() {
  await installSeaweedfs(console.log);
  const { endpoint, access_key, secret_key, close } = await startSeaweedfs(['lake']);
  const config = {
    storage: 'S3',
    bucket_name: 'lake',
    region: 'us-east-1',
    prefix: 'delta',
    endpoint_url: endpoint,
    aws_access_key_id: access_key,
    aws_secret_access_key: secret_key,
  };
  const address = `s3://lake/delta/${table}`;
  const given: Store = { endpoint, key: access_key, secret: secret_key };
  return { address, config, store: given, close };
}

/** Compares all rows of a reading, in the columns of the model. */
function judgeAll(
  { reader, version = '', rows, error, skipped }: Reading,
  table: string,
  expected: Row[],
): void {
  if (skipped !== undefined) return console.log(`${reader.padEnd(12)} skipped: ${skipped}`);
  readings += 1;
  console.log(`${reader.padEnd(12)} ${version} ${table} ${error ?? `${rows!.length} rows`}`);
  if (error !== undefined) return void faults.push(`${reader} of ${table}: ${error}`);
  const names = Object.keys(expected[0] ?? {});
  const told = (all: Row[]) =>
    all.map((row) => JSON.stringify(names.map((name) => row[name] ?? null)));
  const [wanted, found] = [told(expected).toSorted(), told(rows!).toSorted()];
  values += wanted.length * names.length;
  const at = wanted.findIndex((text, index) => text !== found[index]);
  if (at !== -1 || wanted.length !== found.length)
    faults.push(
      `${reader} of ${table}: ${found.length} rows, ${found[at]} instead of ${wanted[at]}`,
    );
}

/** Compares a reading with the source, whose last row has all columns. */
function judge({ reader, version = '', rows, error, skipped }: Reading, expected: Row[]): void {
  if (skipped !== undefined) {
    console.log(`${reader.padEnd(12)} skipped: ${skipped}`);
    return;
  }
  readings += 1;
  console.log(`${reader.padEnd(12)} ${version} ${error ?? `${rows!.length} rows`}`);
  if (error !== undefined) return void faults.push(`${reader}: ${error}`);
  const wanted = { columns: Object.keys(expected.at(-1)!).join(' '), rows: expected };
  const { values: compared, wrong } = compareRows(rows!, wanted);
  values += compared;
  faults.push(...wrong.map((one) => `${reader}: ${one}`));
}
