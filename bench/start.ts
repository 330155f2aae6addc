// How long a server takes until it is ready, on an empty data folder and on one that is there, and
// what its processes weigh when nobody asks; and how long `sluice --help` takes. By the clock, and
// by the processor time of everything that was started. The limit beside them is a bare Node.
//   npm run bench start [--rounds 3] [--idle 20] [--npm] [--program <main of another checkout>]
// `--npm` goes through `npm start`.
import { spawn, spawnSync } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { makeApiKey } from '../server/platform/http/caller/api_key.ts';
import { main, serverEnvironment } from '../test/processes/server_process.ts';
import { median, spreadOf } from './median.ts';
import { memoryOf, treeOf } from './process_memory.ts';
import { processorTime } from './processor_time.ts';

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    idle: { type: 'string', default: '20' },
    npm: { type: 'boolean', default: false },
    program: { type: 'string', default: main },
  },
});
const rounds = Number(options.rounds);

type Took = { seconds: number; processor: number };

/** The command `start` until it says that it is ready. */
async function start(environment: Record<string, string>): Promise<Took & { child: ChildProcess }> {
  const words = options.npm
    ? ['npm', 'start', '--silent']
    : [process.execPath, options.program, 'start'];
  const begun = performance.now();
  const child = spawn(words[0]!, words.slice(1), {
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

/** A command that ends by itself. */
function run(words: string[]): Took {
  const before = processorTime(process.pid, 'with children');
  const begun = performance.now();
  const { status } = spawnSync(process.execPath, words, { stdio: 'ignore' });
  if (status !== 0) throw new Error(`${words.join(' ')} ended with ${status}.`);
  const seconds = (performance.now() - begun) / 1000;
  return { seconds, processor: (processorTime(process.pid, 'with children') - before) / 1e6 };
}

function tell(name: string, took: Took[], aim = ''): void {
  const [middle, least, most] = spreadOf(took.map(({ seconds }) => seconds));
  const processor = median(took.map((one) => one.processor));
  console.log(
    `${name.padEnd(28)} ${middle.toFixed(2)} s (${least.toFixed(2)} to ${most.toFixed(2)}), ` +
      `processor ${processor.toFixed(2)} s${aim}`,
  );
}

async function tellMemory(child: ChildProcess, folder: string): Promise<void> {
  await pause(Number(options.idle) * 1000);
  const memory = memoryOf('proportional', treeOf(child.pid!));
  console.log(
    `memory ${options.idle} s later (proportional set size); the aim is 450 MB, the server 150:`,
  );
  for (const one of memory.by_process.toSorted((a, b) => b.megabytes - a.megabytes))
    console.log(
      `  ${one.megabytes.toFixed(0).padStart(5)} MB  ` +
        one.command.replaceAll(folder, '<folder>').slice(0, 80),
    );
  console.log(`  ${memory.total.toFixed(0).padStart(5)} MB  together`);
}

const help = Array.from({ length: rounds * 3 }, () => run([options.program, '--help']));
tell('sluice --help', help, '; the aim is 0.3 s');
const bare = Array.from({ length: rounds * 3 }, () => run(['-e', '0']));
tell('a bare node', bare);

const first: Took[] = [];
const again: Took[] = [];
for (let round = 0; round < rounds; round += 1) {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-'));
  try {
    const environment = serverEnvironment(folder, makeApiKey());
    const made = await start(environment);
    first.push(made);
    await stop(made.child);
    const kept = await start(environment);
    again.push(kept);
    if (round === rounds - 1) await tellMemory(kept.child, folder);
    await stop(kept.child);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
tell('ready, first start', first, '; the aim is 4 s');
tell('ready, data folder is there', again, '; the aim is 2.5 s');
