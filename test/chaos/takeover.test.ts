import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import sql from 'sql-template-tag';
import { makeApiKey } from '../../server/platform/http/api_key.ts';
import { openDatabase } from '../../server/platform/postgres/database.ts';
import { call, serverEnvironment, startServer, until } from '../server_process.ts';
import type { ServerProcess } from '../server_process.ts';
import { compareFiles, startExport } from './one_export.ts';

/** A killed worker's run must be in other hands by then. */
const takeover_ms_max = 15_000;
const events = 400_000;
const folder = mkdtempSync(join(tmpdir(), 'sluice-takeover-'));
const processes: ServerProcess[] = [];

after(async () => {
  for (const process of processes.toReversed()) await process.stop();
  rmSync(folder, { recursive: true, force: true });
});

test('of two workers one is killed in the middle of a run: the other takes it over in time, writes no finished slice again, and delivers everything once', async (context) => {
  const key = makeApiKey();
  const environment = serverEnvironment(folder, key);
  const start = async (command: string) => {
    const started = await startServer([command], environment);
    processes.push(started);
    return started;
  };
  const { address } = await start('api');
  const workers = [await start('worker'), await start('worker')];
  const path = await startExport({ folder, events }, address, key);
  const messages = async (beginning: string) => {
    const page = await call(address, key, 'GET', `${path}/logs/?search=${beginning}&limit=500`);
    return (page.body['results'] as { message: string }[]).map(({ message }) => message).filter((message) => message.startsWith(beginning));
  };
  await until('the first slice', 60_000, 20, async () => ((await messages('Slice')).length >= 1 ? true : undefined));
  const killed = workers[await holderOf(folder)]!;
  processes.splice(processes.indexOf(killed), 1);
  await killed.kill();
  const killed_at = performance.now();
  const written = (await messages('Slice')).length;
  await until('the other worker to take the run over', takeover_ms_max, 50, async () => ((await messages('Attempt')).length === 2 ? true : undefined));
  context.diagnostic(`taken over ${((performance.now() - killed_at) / 1000).toFixed(1)} s after the kill, with ${written} slices done`);
  const run = await until('the run to end', 60_000, 100, async () => {
    const [newest] = (await call(address, key, 'GET', `${path}/runs/?limit=1`)).body['results'] as { status: string; records_completed: number }[];
    return newest?.status === 'Completed' ? newest : undefined;
  });
  assert.equal(run.records_completed, events);
  const numbers = (await messages('Slice')).map((message) => /^Slice (\d+) of/.exec(message)?.[1]);
  assert.equal(new Set(numbers).size, numbers.length, 'a slice that was noted as safe was written again');
  assert.ok(written < numbers.length, 'the run was over before the kill');
  const { source, delivered, lost, doubled } = await compareFiles(folder);
  assert.deepEqual([source, delivered, lost, doubled], [events, events, 0, 0]);
});

/** Which of the workers has the run, in the order in which they were started: their ids grow with time. */
async function holderOf(dataFolder: string): Promise<number> {
  const { database_url } = JSON.parse(readFileSync(join(dataFolder, 'data/running.json'), 'utf8')) as { database_url: string };
  const db = openDatabase(database_url, { connections_max: 1, application_name: 'takeover' });
  const row = await db.row<{ place: number }>(sql`
    SELECT count(*)::int AS place FROM workers WHERE id < (SELECT worker_id FROM batch_export_runs WHERE worker_id IS NOT NULL)`);
  await db.close();
  return row!.place;
}
