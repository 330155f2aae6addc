// How long a newcomer waits, and what the server weighs: time from `npm start -- --demo`
// (installed, empty data folder) to the first completed export, and the memory of all processes
// together when it is idle afterwards. Run: npm run bench first_export
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { memoryOf, treeOf } from './process_memory.ts';

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
const marks: Record<string, number> = {};
let output = '';
await new Promise<void>((resolve, reject) => {
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString();
    for (const [mark, text] of [
      ['ready', 'Sluice is ready'],
      ['events stored', '  events '],
      ['first completed run', '  first run'],
      ['last day delivered', '  delivered'],
    ] as const) {
      if (marks[mark] === undefined && output.includes(text))
        marks[mark] = (performance.now() - started) / 1000;
    }
    if (marks['last day delivered'] !== undefined) resolve();
  });
  child.once('exit', (code) => reject(new Error(`the server ended with ${code}:\n${output}`)));
});
for (const [mark, seconds] of Object.entries(marks))
  console.log(`${mark.padEnd(22)} ${seconds.toFixed(1)} s after npm start`);
await pause(20_000);
const tree = treeOf(child.pid!);
const memory = memoryOf('proportional', tree);
console.log('idle memory (proportional set size), 20 s later:');
for (const one of memory.by_process)
  console.log(
    `  ${one.megabytes.toFixed(0).padStart(5)} MB  ` +
      one.command.replaceAll(folder, '<folder>').slice(0, 80),
  );
console.log(`  ${memory.total.toFixed(0).padStart(5)} MB  together`);
child.removeAllListeners('exit');
for (const pid of [...tree].toReversed())
  if (pid !== process.pid)
    try {
      process.kill(pid, 'SIGTERM');
    } catch {
      continue;
    }
await new Promise((resolve) => child.once('exit', resolve));
rmSync(folder, { recursive: true, force: true });
