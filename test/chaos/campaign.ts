import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { createInterface } from 'node:readline';
import { createReadStream } from 'node:fs';
import { openClickHouse } from '../../server/platform/clickhouse/client.ts';
import { makeApiKey } from '../../server/platform/http/api_key.ts';
import { fillEvents } from '../fill_events.ts';
import { call, findProcesses, serverEnvironment, startServer, until } from '../server_process.ts';
import type { ServerProcess } from '../server_process.ts';

/** What a campaign does: how many events, how many kills at most `pause_ms_max` apart, and the seed that decides whom and when. */
export type Campaign = { folder: string; events: number; kills: number; seed: number; pause_ms_max: number; say(line: string): void };

/** What came of it: rows at the source and at the destination, compared by uuid. */
export type Outcome = { source: number; delivered: number; lost: number; doubled: number; kills: string[]; attempts: number };

type Victim = 'server' | 'worker' | 'postgres' | 'clickhouse';
type Run = { status: string; records_completed: number | null; latest_error: string | null };

const victims: Victim[] = ['server', 'worker', 'postgres', 'clickhouse'];
const range = { from: Date.parse('2026-01-01T00:00:00Z'), to: Date.parse('2026-01-02T00:00:00Z') };

/** mulberry32: the same seed gives the same numbers in [0, 1). */
function random(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/**
 * Exports events to files while server, worker, PostgreSQL and ClickHouse are killed with -9 at random moments; whoever is a process of ours is started again as an operator
 * would, the stores come back by themselves. Ends when the run is Completed and gives what was lost or doubled, read from the files themselves.
 */
export async function runCampaign(campaign: Campaign): Promise<Outcome> {
  const { folder, say } = campaign;
  const key = makeApiKey();
  const environment = serverEnvironment(folder, key);
  const processes: Record<'server' | 'worker', ServerProcess | undefined> = { server: undefined, worker: undefined };
  try {
    processes.server = await startServer(['api'], environment);
    const port = new URL(processes.server.address).port;
    environment['SLUICE_PORT'] = port;
    const exportPath = await startExport(campaign, processes.server.address, key);
    processes.worker = await startServer(['worker'], environment);
    const kills = await killAtRandom(campaign, environment, processes, () => newestRun(processes.server!.address, key, exportPath));
    const run = await until('the run to complete', 300_000, 100, async () => {
      const newest = await newestRun(processes.server!.address, key, exportPath);
      if (newest?.status.startsWith('Failed') === true) throw new Error(`The run failed: ${JSON.stringify(newest)}`);
      return newest?.status === 'Completed' ? newest : undefined;
    });
    say(`completed with ${run.records_completed} rows after ${kills.length} kills`);
    return { ...(await compareFiles(folder)), kills, attempts: await attemptsOf(processes.server.address, key, exportPath) };
  } finally {
    await processes.worker?.stop();
    await processes.server?.stop();
  }
}

/** Fills the store of the server and starts a backfill of a day of it into files, in many slices; gives the path of the export. */
export async function startExport(campaign: Pick<Campaign, 'folder' | 'events'>, address: string, key: string): Promise<string> {
  const now = Date.now();
  const clickhouse = openClickHouse(clickhouseUrl(campaign.folder), { application: 'chaos' });
  await fillEvents(clickhouse, { team_id: 1, events: campaign.events, ...range, inserted_from: now - 86_400_000, inserted_to: now - 60_000 });
  await clickhouse.close();
  // Small files, so that there are many slices and a kill falls between and into them.
  const created = await call(address, key, 'POST', '/api/projects/1/batch_exports/', {
    name: 'chaos',
    interval: 'day',
    destination: { type: 'File', config: { prefix: 'chaos', file_format: 'JSONLines', max_file_size_mb: 40 } },
  });
  const path = `/api/projects/1/batch_exports/${String(created.body['id'])}`;
  const answer = await call(address, key, 'POST', `${path}/backfill/`, {
    start_at: new Date(range.from).toISOString(),
    end_at: new Date(range.to).toISOString(),
  });
  if (answer.status !== 200) throw new Error(JSON.stringify(answer.body));
  return path;
}

async function killAtRandom(
  campaign: Campaign,
  environment: Record<string, string>,
  processes: Record<'server' | 'worker', ServerProcess | undefined>,
  newest: () => Promise<Run | undefined>,
): Promise<string[]> {
  const next = random(campaign.seed);
  const kills: string[] = [];
  await until('the run to start', 60_000, 100, async () => ((await newest())?.status === 'Running' ? true : undefined));
  for (let count = 0; count < campaign.kills; count += 1) {
    await pause(next() * campaign.pause_ms_max);
    const victim = victims[Math.floor(next() * victims.length)]!;
    const run = await newest().catch(() => undefined);
    if (run?.status === 'Completed') break;
    kills.push(victim);
    campaign.say(`kill -9 of ${victim} at ${run?.records_completed ?? '?'} rows`);
    await killAndRestart(victim, campaign.folder, environment, processes);
  }
  return kills;
}

async function killAndRestart(
  victim: Victim,
  folder: string,
  environment: Record<string, string>,
  processes: Record<'server' | 'worker', ServerProcess | undefined>,
): Promise<void> {
  if (victim === 'postgres' || victim === 'clickhouse') {
    for (const pid of findProcesses(folder, victim)) process.kill(pid, 'SIGKILL');
    return;
  }
  await processes[victim]?.kill();
  if (victim === 'server') {
    // The stores were children of the server and went with it; the worker's connections are dead, so an operator starts it again as well.
    await processes.worker?.kill();
    processes.server = await startServer(['api'], environment);
  }
  processes.worker = await startServer(['worker'], environment);
}

async function newestRun(address: string, key: string, exportPath: string): Promise<Run | undefined> {
  try {
    const page = await call(address, key, 'GET', `${exportPath}/runs/?limit=1`);
    return (page.body['results'] as Run[] | undefined)?.[0];
  } catch {
    return undefined;
  }
}

async function attemptsOf(address: string, key: string, exportPath: string): Promise<number> {
  const page = await call(address, key, 'GET', `${exportPath}/logs/?search=Attempt&limit=500`);
  return (page.body['results'] as unknown[]).length;
}

function clickhouseUrl(folder: string): string {
  return (JSON.parse(readFileSync(join(folder, 'data/running.json'), 'utf8')) as { clickhouse_url: string }).clickhouse_url;
}

/** Counts what of the source is in the files, by uuid. Throws when anything was left behind beside them. */
export async function compareFiles(folder: string): Promise<Omit<Outcome, 'kills' | 'attempts'>> {
  const clickhouse = openClickHouse(clickhouseUrl(folder), { application: 'chaos' });
  const wanted = new Set<string>();
  const answer = await clickhouse.query({ query: 'SELECT toString(uuid) AS uuid FROM events', format: 'JSONEachRow' });
  for await (const rows of answer.stream<{ uuid: string }>()) for (const row of rows) wanted.add(row.json().uuid);
  await clickhouse.close();
  const source = wanted.size;
  let delivered = 0;
  let doubled = 0;
  const exported = join(folder, 'exports/chaos');
  const names = readdirSync(exported);
  const leftovers = names.filter((name) => name.startsWith('.'));
  if (leftovers.length > 0) throw new Error(`Left behind: ${leftovers.join(', ')}`);
  for (const name of names.filter((one) => one.endsWith('.jsonl'))) {
    for await (const line of createInterface({ input: createReadStream(join(exported, name)) })) {
      delivered += 1;
      if (!wanted.delete((JSON.parse(line) as { uuid: string }).uuid)) doubled += 1;
    }
  }
  return { source, delivered, lost: wanted.size, doubled };
}
