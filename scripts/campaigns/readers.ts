// Lets pyarrow, DuckDB, polars and Spark (PyPI) read the folders of exports, in each format, while
// the exports run: npm run readers [-- --python python3 --hours 12 --events 500]
// Installs them into peers/readers/ once; Spark wants java (17 or later). Each reading must have
// rows of whole files, each once; the last must have the rows of the source. Exit code 1 otherwise.
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { openQueryHarness } from '../../test/factories/batch_exports/query_exports.ts';
import { readOptions } from '../options.ts';
import { installPython, startPeer } from '../peer.ts';

type Reading = {
  reader: string;
  format: string;
  rows?: number;
  distinct?: number;
  sha256?: string;
  error?: string;
};

const packages = ['pyarrow==26.0.1', 'duckdb==2.0.1', 'polars==2.1.0', 'pyspark==4.0.1'];
const formats = ['JSONLines', 'CSV', 'Parquet'];
const { python, hours, events } = readOptions({ python: 'python3', hours: 9, events: 500 });
const exporting = await openQueryHarness();
const peer = await startReaders();
try {
  const home = await exporting.harness.newOrganization();
  await exporting.insert(home, Array.from({ length: hours }, (_, hour) => eventsOf(hour)).flat());
  const exports: { id: string }[] = [];
  for (const file_format of formats)
    exports.push(await exporting.scheduled(home, bodyOf(file_format), 1));
  await deliver(1);
  const faults: string[] = [];
  let readings = 0;
  for (let hour = 2; hour <= hours; hour += 1) {
    const before = (hour - 1) * events;
    const [, read] = await Promise.all([deliver(hour), peer.ask<Reading>({})]);
    readings += read.length;
    for (const reading of read)
      if (!isBetween(reading, before, before + events)) faults.push(JSON.stringify(reading));
  }
  const sha256 = await sourceHash(home.project.id);
  const last = await peer.ask<Reading>({});
  for (const reading of last) if (reading.sha256 !== sha256) faults.push(JSON.stringify(reading));
  for (const { reader, format, rows, error } of last)
    console.log(`${reader.padEnd(14)} ${format.padEnd(10)} ${error ?? `${rows} rows`}`);
  for (const fault of faults) console.log(`WRONG ${fault}`);
  console.log(
    `${packages.join(' ')}: ${readings} readings while ${hours * formats.length} deliveries were ` +
      `shown, ${last.length} after; ${faults.length} wrong`,
  );
  process.exitCode = faults.length === 0 ? 0 : 1;

  /** Delivers the hours up to this one to each folder. */
  async function deliver(hour: number): Promise<void> {
    for (const { id } of exports) {
      await exporting.extend(id, hour);
      const runs = await exporting.runAll(id);
      const failed = runs.find(({ status }) => status !== 'Completed');
      if (failed !== undefined) throw new Error(`A run failed: ${failed.latest_error}`);
    }
  }
} finally {
  await peer.stop();
  await exporting.close();
}

function eventsOf(hour: number) {
  return Array.from({ length: events }, (_, n) => ({
    event: `event ${n}`,
    at: `2026-01-01T0${hour}:${String(n % 60).padStart(2, '0')}:00Z`,
    properties: { n, text: 'a "quoted",\ntext' },
  }));
}

function bodyOf(file_format: string) {
  const prefix = `${file_format}/day={local_year}-{local_month}-{local_day}`;
  return { name: file_format, destination: { type: 'File', config: { prefix, file_format } } };
}

/** Requires rows of whole files, each row once, because files may appear during a reading. */
function isBetween({ rows, distinct }: Reading, least: number, most: number): boolean {
  return rows !== undefined && rows === distinct && (rows === least || rows === most);
}

async function sourceHash(team_id: number): Promise<string> {
  const rows = await exporting.harness.deps.clickhouse.rows<{ uuid: string }>({
    query: `SELECT toString(uuid) AS uuid FROM events WHERE team_id = ${team_id} ORDER BY uuid`,
  });
  const uuids = rows.map(({ uuid }) => uuid).toSorted();
  return createHash('sha256').update(uuids.join('\n')).digest('hex');
}

/** The readers, in one process that reads all folders on request. */
async function startReaders() {
  const interpreter = await installPython('readers/venv', packages, python);
  const script = join(import.meta.dirname, 'readers', 'read.py');
  return startPeer(interpreter, [script, exporting.folder], 'ignore');
}
