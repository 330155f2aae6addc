// Measures how long a server takes until it is ready, on an empty data folder and on a used one,
// the memory of its idle processes, and the time of `sluice --help`. It takes the time of the clock
// and the processor time of all started processes. The limit beside them is a bare Node.
//   npm run bench start [-- --rounds 3 --idle 20]
import { spawn, spawnSync } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { createApiKey } from '../server/platform/http/caller/api_key.ts';
import { serverEnvironment } from '../test/processes/server_process.ts';
import { benched_program } from './measure/benched_program.ts';
import { readBenchOptions, tell } from './measure/figures.ts';
import { memoryOf, treeOf } from './measure/process_memory.ts';
import { processorTime } from './measure/processor_time.ts';

const options = readBenchOptions({ rounds: '3', idle: '20' });
const rounds = Number(options.rounds);

type Took = { seconds: number; processor: number };

/** Runs the command `start` until it reports that it is ready. */
async function start(environment: Record<string, string>): Promise<Took & { child: ChildProcess }> {
  const begun = performance.now();
  const child = spawn(process.execPath, [benched_program, 'start'], {
    env: environment,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await new Promise<void>((resolve, reject) => {
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString();
      if (output.includes('Sluice is ready')) resolve();
    });
    child.once('exit', (code) => reject(new Error(`It ended with ${code}:\n${output}`)));
  });
  const seconds = (performance.now() - begun) / 1000;
  child.removeAllListeners('exit');
  return { child, seconds, processor: processorTime(child.pid!, 'with children') / 1e6 };
}

async function stop(child: ChildProcess): Promise<void> {
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  await ended;
}

/** Runs a command that ends on its own. */
function run(words: string[]): Took {
  const before = processorTime(process.pid, 'with children');
  const begun = performance.now();
  const { status } = spawnSync(process.execPath, words, { stdio: 'ignore' });
  if (status !== 0) throw new Error(`${words.join(' ')} ended with ${status}.`);
  const seconds = (performance.now() - begun) / 1000;
  return { seconds, processor: (processorTime(process.pid, 'with children') - before) / 1e6 };
}

/** Returns the memory of the idle server, alone and with all its processes. */
async function weigh(child: ChildProcess) {
  await pause(Number(options.idle) * 1000);
  const tree = treeOf(child.pid!);
  const memory = memoryOf('proportional', tree);
  const server = memory.by_process.find(({ command }) => command.includes(benched_program));
  const kept = memoryOf('kept', tree).total;
  return { server: server?.megabytes ?? NaN, together: memory.total, kept };
}

const starts = { first: [] as Took[], again: [] as Took[] };
const helps = { ours: [] as Took[], bare: [] as Took[] };
const memory = { server: [] as number[], together: [] as number[], kept: [] as number[] };
for (let round = 0; round < rounds; round += 1) {
  helps.ours.push(run([benched_program, '--help']));
  helps.bare.push(run(['-e', '0']));
  const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-'));
  try {
    const environment = serverEnvironment(folder, createApiKey());
    const created = await start(environment);
    starts.first.push(created);
    await stop(created.child);
    const kept = await start(environment);
    starts.again.push(kept);
    const { server, together, kept: own } = await weigh(kept.child);
    memory.server.push(server);
    memory.together.push(together);
    memory.kept.push(own);
    await stop(kept.child);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const secondsOf = (took: Took[]) => took.map(({ seconds }) => seconds);
tell({
  what: '`sluice --help`',
  unit: 's',
  better: 'less',
  ours: secondsOf(helps.ours),
  beside: { name: 'a bare Node', rounds: secondsOf(helps.bare) },
  aim: { value: 0.3 },
});
for (const [what, took, value] of [
  ['Ready, first start', starts.first, 4],
  ['Ready, data folder is there', starts.again, 2.5],
] as const) {
  tell({ what, unit: 's', better: 'less', ours: secondsOf(took), aim: { value } });
  const ours = took.map(({ processor }) => processor);
  tell({ what: `${what}: processor time of all`, unit: 's', better: 'less', ours });
}
for (const [what, ours, value] of [
  ['Memory of the server, idle', memory.server, 150],
  ['Memory of all processes, idle', memory.together, 450],
  ['Memory of all processes, idle, without pages of program files', memory.kept, 350],
] as const)
  tell({ what, unit: 'MB', better: 'less', ours, aim: { value } });
