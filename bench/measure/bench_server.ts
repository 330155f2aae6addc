import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ChildProcess } from 'node:child_process';
import { openClickHouse } from '../../server/platform/clickhouse/client.ts';
import type { ClickHouse } from '../../server/platform/clickhouse/client.ts';
import { createApiKey } from '../../server/platform/http/caller/api_key.ts';
import { fillEvents } from '../../test/factories/events/fill_events.ts';
import {
  call,
  serverEnvironment,
  startServer,
  until,
} from '../../test/processes/server_process.ts';
import { benched_program } from './benched_program.ts';

/** A server as users start it, on its own folder, with connections to its stores. */
export type BenchServer = {
  /** The folder of all its data; `File` writes into `exports` below it. */
  folder: string;
  address: string;
  key: string;
  child: ChildProcess;
  database_url: string;
  clickhouse: ClickHouse;
  /** Returns the body of an answer of the API; throws unless it succeeded. */
  api(method: string, path: string, body?: unknown): Promise<Record<string, unknown>>;
  close(): Promise<void>;
};

const day_ms = 24 * 3_600_000;
const today = Math.floor(Date.now() / day_ms) * day_ms;
/** The day that `fillYesterday` fills and `exportYesterday` delivers. */
const yesterday = { from: today - day_ms, to: today };

/**
 * Opens a server. `commands` are its processes; the first one has the stores and the API. `before`
 * are the words in front of each command, such as a program that removes a right.
 */
export async function openBenchServer(
  commands: string[] = ['start'],
  before: string[] = [],
): Promise<BenchServer> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-'));
  const key = createApiKey();
  const environment = serverEnvironment(folder, key);
  const processes = [await startServer([commands[0]!], environment, benched_program, before)];
  for (const command of commands.slice(1))
    processes.push(await startServer([command], environment, benched_program, before));
  const { address, child } = processes[0]!;
  const stores = JSON.parse(readFileSync(join(folder, 'data/running.json'), 'utf8')) as {
    clickhouse_url: string;
    database_url: string;
  };
  const clickhouse = openClickHouse(stores.clickhouse_url, { application: 'bench' });
  return {
    folder,
    address,
    key,
    child,
    database_url: stores.database_url,
    clickhouse,
    api: async (method, path, body) => {
      const answer = await call(address, key, method, path, body);
      if (answer.status >= 300) throw new Error(`${method} ${path}: ${JSON.stringify(answer)}`);
      return answer.body;
    },
    close: async () => {
      await clickhouse.close();
      for (const one of processes.toReversed()) await one.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Creates a project with this many events of yesterday in merged parts, and returns its id. */
export async function fillYesterday(
  { api, clickhouse }: BenchServer,
  events: number,
): Promise<number> {
  const team_id = Number((await api('POST', '/api/projects/', { name: `${events} events` }))['id']);
  await fillEvents(clickhouse, { team_id, events, ...yesterday });
  await clickhouse.command({ query: 'OPTIMIZE TABLE events FINAL' });
  return team_id;
}

/**
 * Delivers yesterday by one run of a backfill of a new export. Returns the seconds from the count
 * of its rows to its end, and the place of the rows; `look` is called meanwhile.
 */
export async function exportYesterday(
  { api }: BenchServer,
  team_id: number,
  destination: object,
  look: () => void = () => undefined,
): Promise<{ seconds: number; steps: string }> {
  const path = await beginYesterday({ api }, team_id, destination);
  const run = await until(`the export of project ${team_id}`, 1_800_000, 200, async () => {
    look();
    const [newest] = (await api('GET', `${path}/runs/`))['results'] as RunRow[];
    // A second attempt would make the figure useless.
    if (typeof newest?.latest_error === 'string') throw new Error(newest.latest_error);
    return newest?.status === 'Completed' ? newest : undefined;
  });
  const logs = (await api('GET', `${path}/runs/${run.id}/logs/?limit=500`))['results'] as {
    timestamp: string;
    message: string;
  }[];
  const begun = logs.find(({ message }) => message.startsWith('Attempt'))!;
  const steps = Object.entries(run.steps.at(-1) ?? {})
    .filter(([name]) => name.endsWith('_ms'))
    .map(([name, ms]) => `${name.slice(0, -3)} ${ms} ms`)
    .join(', ');
  return { seconds: (Date.parse(logs[0]!.timestamp) - Date.parse(begun.timestamp)) / 1000, steps };
}

type RunRow = { id: string; status: string; latest_error: string | null; steps: object[] };

/** Requests a backfill of yesterday by a new export, and returns the export's path in the API. */
export async function beginYesterday(
  { api }: Pick<BenchServer, 'api'>,
  team_id: number,
  destination: object,
): Promise<string> {
  const list = `/api/projects/${team_id}/batch_exports/`;
  const created = await api('POST', list, { name: 'Bench', interval: 'day', destination });
  const path = `${list}${String(created['id'])}`;
  await api('POST', `${path}/backfill/`, {
    start_at: new Date(yesterday.from).toISOString(),
    end_at: new Date(yesterday.to).toISOString(),
  });
  return path;
}
