// Plays a month of an export that commits every five minutes to a table of our own Iceberg catalog,
// in virtual time, with its maintenance, and tells how many files there are, how large the metadata
// is, how long a point query is planned, and how many bytes were written:
//   npm run lake_month [-- --days 30 --rows 300 --target_kib 4096]
// Exit code 1 if a row is lost or doubled, or a figure is beyond its bound.
import { randomUUID } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import sql from 'sql-template-tag';
import { newExport } from '../../test/factories/batch_exports/batch_exports.ts';
import { openQueryHarness } from '../../test/factories/batch_exports/query_exports.ts';
import { selectParquet } from '../../server/engine/destinations/formats/parquet/parquet.ts';
import { readParquets } from '../../server/engine/destinations/formats/parquet/read_parquet.ts';
import { file_place } from '../../server/engine/destinations/file/file.ts';
import { openWorld } from '../../server/engine/destinations/iceberg/open_world.ts';
import { showFiles } from '../../server/engine/destinations/iceberg/show.ts';
import { locationOf } from '../../server/engine/destinations/iceberg/world.ts';
import { isLive, openManifest } from '../../server/engine/destinations/lake/entries.ts';
import { readManifestList } from '../../server/engine/destinations/lake/manifest_list.ts';
import { newSchema } from '../../server/engine/destinations/lake/schema.ts';
import { stampParquet } from '../../server/engine/destinations/lake/stamp_parquet.ts';
import { destinationDeps } from '../../server/engine/exports/engine.ts';
import { maintainTable } from '../../server/engine/exports/lake_maintenance/maintain.ts';
import {
  openMaintainedTable,
  stateOf,
} from '../../server/engine/exports/lake_maintenance/maintained_table.ts';
import { readNamed } from '../../server/engine/exports/lake_maintenance/read_table.ts';
import { listLive } from '../../server/engine/exports/lake_maintenance/compact.ts';
import type { Delivery } from '../../server/engine/model/destination/destination.ts';
import { readWhole } from '../../server/engine/model/lake_catalog/tables.ts';
import { ownColumn } from '../../server/engine/model/models/column.ts';
import { readOptions } from '../options.ts';

const { days, rows, target_kib } = readOptions({ days: 30, rows: 300, target_kib: 4096 });
const step_ms = 5 * 60_000;
const commits = (days * 24 * 3_600_000) / step_ms;
/** Commits between two rounds of maintenance: two hours. */
const commits_per_round = 24;
const began_ms = Date.parse('2026-01-01T00:00:00Z');
const columns = [
  ownColumn('uuid', 'uuid'),
  ownColumn('event', 'text'),
  ownColumn('timestamp', 'timestamp'),
  ownColumn('properties', 'json'),
];

const exporting = await openQueryHarness();
const faults: string[] = [];
try {
  const { harness } = exporting;
  const home = await harness.newOrganization();
  const config = { storage: 'File', table: 'events' };
  const { id: batch_export_id } = await newExport(home, {
    destination: { type: 'Iceberg', config },
  });
  let now_ms = began_ms;
  const clock = { ...harness.deps.clock, now: () => now_ms };
  const engine = { ...harness.deps.engine, clock };
  const { signal } = new AbortController();
  const world = await openWorld(
    file_place,
    config,
    home.project.id,
    destinationDeps(engine, signal),
  );
  const written = new Map<string, number>();
  const count = (name: string, content: Buffer | string) => {
    const kind = kindOf(name);
    written.set(kind, (written.get(kind) ?? 0) + Buffer.byteLength(content));
  };
  const { put } = world.files;
  world.files.put = async (name, content) => {
    count(name, content);
    await put(name, content);
  };
  const delivery = { batch_export_id, team_id: home.project.id, columns } as Delivery;
  const schema = newSchema(columns);
  const created = await world.catalog.create(
    {
      location: locationOf(world),
      schema,
      properties: { 'write.target-file-size-bytes': String(target_kib * 1024) },
    },
    delivery,
  );
  const { id } = (await engine.db.row<{ id: string }>(
    sql`SELECT id FROM lake_tables WHERE team_id = ${home.project.id}`,
  ))!;
  const open = async () => {
    const table = (await openMaintainedTable(engine, { id, team_id: home.project.id }, signal))!;
    const { files } = table;
    const counted = async (uri: string, content: Buffer | string) => {
      count(uri, content);
      await files.put(uri, content);
    };
    return { ...table, files: { ...files, put: counted } };
  };
  const totals: Record<string, number> = {};
  let [metadata_max, files_max, commit_ms] = [0, 0, 0];
  for (let commit = 1; commit <= commits; commit += 1) {
    const file = await newFile(commit);
    const name = `${locationOf(world)}/data/${file.name}`.slice(world.root.length);
    await world.files.put(name, file.bytes);
    const began = performance.now();
    await showFiles(
      world,
      {
        delivery: { ...delivery, delivery_id: randomUUID() },
        table_uuid: created.metadata['table-uuid'],
        files: [{ ...file.entry, name }],
        removed: new Set(),
      },
      (show) => engine.db.transaction(show),
    );
    commit_ms += performance.now() - began;
    now_ms += step_ms;
    if (commit % commits_per_round !== 0) continue;
    const is_daily = commit % (commits_per_round * 12) === 0 || commit === commits;
    const { result, detail } = await maintainTable(await open(), { is_daily, cleans: is_daily });
    if (detail !== null) throw new Error(detail);
    for (const [name, value] of Object.entries(result)) totals[name] = (totals[name] ?? 0) + value;
    const whole = (await readWhole(engine.db, id))!;
    metadata_max = Math.max(metadata_max, Buffer.byteLength(whole.text));
    const table = await open();
    const live = await listLive(table, await stateOf(engine.db, table.table));
    files_max = Math.max(files_max, live.length);
    if (commit % (commits_per_round * 60) === 0)
      process.stderr.write(`day ${commit / (commits_per_round * 12)}: ${live.length} files\n`);
  }
  const table = await open();
  const live = await listLive(table, await stateOf(engine.db, table.table));
  if (typeof live === 'string') throw new Error(live);
  const bytes = live.reduce((sum, file) => sum + file.bytes, 0);
  const ideal = Math.max(1, Math.ceil(bytes / (target_kib * 1024)));
  const plan = await planned(open, began_ms + (days * 24 * 3_600_000) / 2);
  tell('commits', String(commits), true);
  tell('mean of a commit', `${(commit_ms / commits).toFixed(1)} ms`, true);
  tell('data files', `${live.length}, ideal ${ideal}`, live.length <= 1.5 * ideal);
  tell('most data files before a round was over', String(files_max), true);
  tell(
    'planning of a point query',
    `${plan.ms.toFixed(1)} ms, ${plan.cpu_ms.toFixed(1)} ms of processor, ${plan.files} files`,
    plan.ms <= 200,
  );
  tell('largest metadata file', `${(metadata_max / 1e6).toFixed(2)} MB`, metadata_max < 1e6);
  for (const [kind, sum] of written) tell(`written: ${kind}`, `${(sum / 1e6).toFixed(1)} MB`, true);
  for (const [name, value] of Object.entries(totals)) tell(name, String(value), true);
  const uuids = new Set<string>();
  let found = 0;
  for (const { path } of live) {
    const input = { bytes: [await readNamed(table.files, path)] as never, names: ['uuid'] };
    for await (const part of readParquets([input]))
      for (const [uuid] of part.rows) {
        found += 1;
        uuids.add(uuid!);
      }
  }
  tell('rows', `${found}, ${uuids.size} of them different`, found === commits * rows);
  tell('rows lost or doubled', String(commits * rows - uuids.size), uuids.size === commits * rows);
} finally {
  await exporting.close();
}
if (faults.length > 0) process.exitCode = 1;

function tell(what: string, value: string, is_right: boolean): void {
  console.log(`${is_right ? ' ' : '!'} ${what}: ${value}`);
  if (!is_right) faults.push(what);
}

function kindOf(name: string): string {
  if (name.endsWith('.metadata.json')) return 'metadata files';
  if (name.endsWith('.avro')) return name.includes('/snap-') ? 'manifest lists' : 'manifests';
  return name.includes('/compacted/') ? 'compacted data' : 'data';
}

/** Writes a file with the rows of five minutes, as a run does. */
async function newFile(commit: number) {
  const { clickhouse } = exporting.harness.deps;
  const from_ms = began_ms + (commit - 1) * step_ms;
  const { expressions, format, settings } = selectParquet(columns, { compression: 'zstd' });
  const { stream } = await clickhouse.exec({
    query: `SELECT ${expressions} FROM (SELECT
        toUUID(concat('00000000-0000-4000-8000-', leftPad(hex(number), 12, '0'))) AS uuid,
        concat('event ', toString(number % 20)) AS event,
        fromUnixTimestamp64Milli(toInt64({from:UInt64} + (number % {rows:UInt64})
          * intDiv(300000, {rows:UInt64})), 'UTC') AS timestamp,
        concat('{"path":"/', hex(sipHash64(number)), '","n":', toString(number % 1000), '}')
          AS properties
      FROM numbers({first:UInt64}, {rows:UInt64})) FORMAT ${format}`,
    query_params: { from: from_ms, first: (commit - 1) * rows, rows },
    clickhouse_settings: settings,
  });
  const ids = new Map(newSchema(columns).fields.map(({ name, id }) => [name, id]));
  const { stage, finish } = stampParquet(ids);
  const [bytes] = await Promise.all([buffer(stage), pipeline(stream, stage)]);
  const { statistics } = finish();
  return {
    name: `${String(commit).padStart(6, '0')}.parquet`,
    bytes,
    entry: {
      records: rows,
      bytes: bytes.length,
      statistics,
      partition: [],
      spec_id: 0,
      sort_order_id: 0,
    },
  };
}

/**
 * Plans a query for one instant as a new reader does: the metadata from the catalog, the manifest
 * list, every manifest, and the bounds of `timestamp` of each file.
 */
async function planned(
  open: () => Promise<NonNullable<Awaited<ReturnType<typeof openMaintainedTable>>>>,
  at_ms: number,
): Promise<{ ms: number; cpu_ms: number; files: number }> {
  const times: { ms: number; cpu_ms: number }[] = [];
  let files = 0;
  for (let round = 0; round < 5; round += 1) {
    const began = performance.now();
    const cpu_before = process.cpuUsage();
    const table = await open();
    JSON.parse((await readWhole(table.engine.db, table.table.id))!.text);
    const { parent } = await stateOf(table.engine.db, table.table);
    const at = BigInt(at_ms) * 1_000n;
    files = 0;
    for (const listed of readManifestList(await readNamed(table.files, parent!['manifest-list']))) {
      const opened = openManifest(await readNamed(table.files, listed.manifest_path), listed);
      for (const { record } of opened.entries.filter(isLive)) {
        const { lower_bounds: lower, upper_bounds: upper } = record['data_file'] as Bounds;
        const low = lower.find(({ key }) => key === 3)!.value.readBigInt64LE();
        const high = upper.find(({ key }) => key === 3)!.value.readBigInt64LE();
        if (low <= at && at <= high) files += 1;
      }
    }
    const { user, system } = process.cpuUsage(cpu_before);
    times.push({ ms: performance.now() - began, cpu_ms: (user + system) / 1_000 });
  }
  return { ...times.toSorted((a, b) => a.ms - b.ms)[2]!, files };
}

type Bound = { key: number; value: Buffer };
type Bounds = { lower_bounds: Bound[]; upper_bounds: Bound[] };
