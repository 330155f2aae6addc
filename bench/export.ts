// Exports of 10 k, 1 M and 10 M events to `File` as JSON lines and as Parquet (zstd), against
// ClickHouse writing the same rows in the same bytes to the same disk itself (INSERT INTO FUNCTION
// file), which leaves them to the page cache, and against the same followed by a flush to the disk,
// as ours are flushed. Prints rows/s, the ratios, and the memory of all processes over idle while
// exporting. Run: npm run bench export [10000,1000000]
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openClickHouse } from '../server/platform/clickhouse/client.ts';
import { makeApiKey } from '../server/platform/http/caller/api_key.ts';
import { selectFor } from '../server/engine/formats/select.ts';
import { models } from '../server/engine/models/index.ts';
import { fillEvents } from '../test/factories/fill_events.ts';
import { call, serverEnvironment, startServer, until } from '../test/processes/server_process.ts';
import { memoryOf, treeOf } from './process_memory.ts';

const sizes = (process.argv[2] ?? '10000,1000000,10000000').split(',').map(Number);
const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-'));
const key = makeApiKey();
const server = await startServer(['start'], serverEnvironment(folder, key));
const clickhouse = openClickHouse(
  (
    JSON.parse(readFileSync(join(folder, 'data/running.json'), 'utf8')) as {
      clickhouse_url: string;
    }
  ).clickhouse_url,
  {
    application: 'bench',
  },
);
const api = (method: string, path: string, body?: unknown) =>
  call(server.address, key, method, path, body);
// The processes that matter do not change; looking for them again at each sample would take its
// share of two cores.
const tree = treeOf(server.child.pid!);
const memory = () => memoryOf('private', tree);
const day = 24 * 3_600_000;
const range = { from: Date.parse('2026-01-01T00:00:00Z'), to: Date.parse('2026-01-02T00:00:00Z') };

/**
 * ClickHouse's own writer: the same query, ordered alike, into a file of its own on the same disk;
 * seconds until it is written, and until it is on the disk.
 */
async function ownWriter(
  teamId: number,
  format: 'JSONLines' | 'Parquet',
): Promise<{ written: number; flushed: number }> {
  const select = selectFor(
    { format, compression: format === 'Parquet' ? 'zstd' : null },
    models.events.columns.files,
  );
  const target = join(folder, `own.${format}`);
  mkdirSync(folder, { recursive: true });
  rmSync(target, { force: true });
  const started = performance.now();
  await clickhouse.command({
    query: `INSERT INTO FUNCTION file('${target}', '${select.format}') SELECT ${select.expressions}
      FROM events WHERE team_id = ${teamId} ORDER BY inserted_at, uuid`,
    clickhouse_settings: { ...select.settings, engine_file_truncate_on_insert: 1 },
  });
  const written = (performance.now() - started) / 1000;
  execFileSync('sync', ['--data', target]);
  const flushed = (performance.now() - started) / 1000;
  rmSync(target, { force: true });
  return { written, flushed };
}

/**
 * One backfill of one run through the API; gives seconds between start and end of the run, and the
 * largest memory seen.
 */
async function ourWriter(
  teamId: number,
  format: 'JSONLines' | 'Parquet',
): Promise<{ seconds: number; megabytes: number; worker_megabytes: number }> {
  const created = await api('POST', `/api/projects/${teamId}/batch_exports/`, {
    name: `${format} ${teamId}`,
    interval: 'day',
    destination: {
      type: 'File',
      config: {
        prefix: `${format}-${teamId}-${Math.random()}`,
        file_format: format,
        compression: format === 'Parquet' ? 'zstd' : null,
      },
    },
  });
  const path = `/api/projects/${teamId}/batch_exports/${String(created.body['id'])}`;
  await api('POST', `${path}/backfill/`, {
    start_at: new Date(range.from).toISOString(),
    end_at: new Date(range.to).toISOString(),
  });
  let megabytes = 0;
  let worker_megabytes = 0;
  type Run = { id: string; status: string; records_completed: number };
  const done = await until(`the export of project ${teamId}`, 900_000, 500, async () => {
    const seen = memory();
    megabytes = Math.max(megabytes, seen.total);
    worker_megabytes = Math.max(
      worker_megabytes,
      seen.by_process.find((one) => one.pid === server.child.pid)?.megabytes ?? 0,
    );
    const runs = (await api('GET', `${path}/runs/`)).body['results'] as Run[];
    if (runs[0]?.status.startsWith('Failed')) throw new Error(JSON.stringify(runs[0]));
    return runs[0]?.status === 'Completed' ? runs[0] : undefined;
  });
  const logs = (await api('GET', `${path}/runs/${done.id}/logs/?limit=100`)).body['results'] as {
    timestamp: string;
    message: string;
  }[];
  if (process.argv[3] === '--log')
    for (const line of logs.toReversed()) console.log(line.timestamp, line.message);
  rmSync(join(folder, 'exports'), { recursive: true, force: true });
  return {
    seconds: (Date.parse(logs[0]!.timestamp) - Date.parse(logs.at(-1)!.timestamp)) / 1000,
    megabytes,
    worker_megabytes,
  };
}

try {
  let team = 1;
  for (const events of sizes) {
    const project = await api('POST', '/api/projects/', { name: `${events} events` });
    team = Number(project.body['id']);
    const now = Date.now();
    await fillEvents(clickhouse, {
      team_id: team,
      events,
      ...range,
      inserted_from: now - day,
      inserted_to: now - 60_000,
    });
    await clickhouse.command({ query: 'OPTIMIZE TABLE events FINAL' });
    const idle = memory();
    const idleWorker = idle.by_process.find((one) => one.pid === server.child.pid)?.megabytes ?? 0;
    for (const format of ['JSONLines', 'Parquet'] as const) {
      const own = [await ownWriter(team, format)];
      const ours = [await ourWriter(team, format)];
      own.push(await ownWriter(team, format));
      ours.push(await ourWriter(team, format));
      const ownBest = Math.min(...own.map((one) => one.written));
      const flushedBest = Math.min(...own.map((one) => one.flushed));
      const oursBest = Math.min(...ours.map((one) => one.seconds));
      const over = Math.max(...ours.map((one) => one.megabytes)) - idle.total;
      const overWorker = Math.max(...ours.map((one) => one.worker_megabytes)) - idleWorker;
      console.log(
        `${events} events, ${format}: ${Math.round(events / oursBest)} rows/s, ClickHouse ` +
          `itself ${Math.round(events / ownBest)} rows/s, ratio ` +
          `${(ownBest / oursBest).toFixed(2)}, with a flush ` +
          `${(flushedBest / oursBest).toFixed(2)}; over idle: all processes ${over.toFixed(0)} ` +
          `MB, the server ${overWorker.toFixed(0)} MB`,
      );
    }
  }
} finally {
  await clickhouse.close();
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
}
