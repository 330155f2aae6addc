// Measures how long a newcomer waits, and the memory of the server: the time from `npm start --
// --demo` (installed, empty data folder) to the first completed export, and the memory of all
// processes together when the server is idle afterwards.
//   npm run bench first_export [-- --rounds 1]
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { readBenchOptions, tell } from './measure/figures.ts';
import { memoryOf, treeOf } from './measure/process_memory.ts';

const options = readBenchOptions({ rounds: '1' });
/** The lines that the server prints, by their meaning. */
const marks = {
  ready: 'Sluice is ready',
  'first run completed': '  first run',
  'last day delivered': '  delivered',
};
type Mark = keyof typeof marks;
type First = Record<Mark | 'memory', number>;

/** Seconds until each mark, and the MB of all processes 20 s after the last one. */
async function start(): Promise<First> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-'));
  const inherited = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !name.startsWith('SLUICE_')),
  );
  const started = performance.now();
  const child = spawn('npm', ['start', '--silent', '--', '--demo'], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      ...inherited,
      SLUICE_PORT: '0',
      SLUICE_DATA_DIR: join(folder, 'data'),
      SLUICE_EXPORT_DIR: join(folder, 'exports'),
      SLUICE_LOG_LEVEL: 'warn',
    },
  });
  const found: Partial<First> = {};
  await new Promise<void>((resolve, reject) => {
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString();
      for (const [mark, text] of Object.entries(marks) as [Mark, string][])
        if (output.includes(text)) found[mark] ??= (performance.now() - started) / 1000;
      if (found['last day delivered'] !== undefined) resolve();
    });
    child.once('exit', (code) => reject(new Error(`the server ended with ${code}:\n${output}`)));
  });
  await pause(20_000);
  const tree = treeOf(child.pid!);
  found.memory = memoryOf('proportional', tree).total;
  child.removeAllListeners('exit');
  for (const pid of [...tree].toReversed())
    try {
      process.kill(pid, 'SIGTERM');
    } catch {
      continue;
    }
  await new Promise((resolve) => child.once('exit', resolve));
  rmSync(folder, { recursive: true, force: true });
  return found as First;
}

const rounds: First[] = [];
for (let round = 0; round < Number(options.rounds); round += 1) rounds.push(await start());
for (const mark of Object.keys(marks) as Mark[])
  tell({
    what: `The first minute, npm start with the demo: ${mark}`,
    unit: 's',
    better: 'less',
    ours: rounds.map((one) => one[mark]),
  });
tell({
  what: 'Memory of all processes, idle after the demo',
  unit: 'MB',
  better: 'less',
  ours: rounds.map(({ memory }) => memory),
});
