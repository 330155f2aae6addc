// Packs the checkout, installs the package into an empty folder with the npm and the Node at hand,
// and starts it there until its first export has completed: as whoever runs this and, as root, as
// user 65534 too, bound to one core and, where root may create a control group, to 1 GiB of memory.
// Prints sizes, times and the most memory that all its processes held. Exit code 1: something did
// not work. npm run try:package [-- --node <bin folder>]
import { execFileSync, spawn } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  rmdirSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { root } from '../child.ts';
import { readOptions } from '../options.ts';

const nobody = 65_534;
const wait_ms_max = 300_000;
const memory_bytes_max = 2 ** 30;
/** The files in which control groups of version 1 and 2 limit memory. */
const bounds = [
  { folder: '/sys/fs/cgroup/memory', file: 'memory.limit_in_bytes' },
  { folder: '/sys/fs/cgroup', file: 'memory.max' },
];

/** Enters the group, becomes the user and binds to one core, all as one process. */
const enter =
  'group=$0 user=$1; shift; [ -z "$group" ] || echo $$ > "$group/cgroup.procs" || exit 1; ' +
  '[ "$user" = "$(id -u)" ] || ' +
  'set -- setpriv --reuid="$user" --regid="$user" --clear-groups "$@"; ' +
  'exec taskset -c 0 "$@"';

const options = readOptions({ node: dirname(process.execPath) });
const environment: Record<string, string> = {
  PATH: [options.node, process.env['PATH']].join(delimiter),
};
const folder = mkdtempSync(join(tmpdir(), 'sluice-package-'));
const groups: string[] = [];
chmodSync(folder, 0o755);
try {
  const packed = timed('npm pack', () => npm(['pack', '--pack-destination', folder], root));
  const file = join(folder, packed.trim().split('\n').at(-1)!);
  const home = join(folder, 'installed');
  timed('npm install', () => npm(['install', '--global', '--prefix', home, file], folder));
  console.log(`package ${size(file)}, installed ${size(home)}`);
  const program = join(home, 'bin/sluice');
  console.log(`node ${run('node', ['--version']).trim()}, sluice ${run(program, ['--version'])}`);
  await tryStart(program, process.getuid?.() ?? 0);
  if (process.getuid?.() === 0) await tryStart(program, nobody);
} finally {
  rmSync(folder, { recursive: true, force: true });
  for (const group of groups) if (existsSync(group)) rmdirSync(group);
}

/** Creates a control group with 1 GiB; undefined if this process may not. */
function boundGroup(user: number): string | undefined {
  for (const { folder: place, file } of bounds) {
    const group = join(place, `sluice-try-${process.pid}-${user}`);
    try {
      mkdirSync(group);
      groups.push(group);
      writeFileSync(join(group, file), String(memory_bytes_max));
      return group;
    } catch {
      // The file is of the other version, or this process may not write it.
    }
  }
  return undefined;
}

/** Starts the demo in an empty folder and waits for the rows of its first export. */
async function tryStart(program: string, user: number): Promise<void> {
  const place = join(folder, `user-${user}`);
  mkdirSync(place);
  chownSync(place, user, user);
  const started = performance.now();
  const group = boundGroup(user);
  const child = spawn('sh', ['-c', enter, group ?? '', String(user), program, 'start', '--demo'], {
    cwd: place,
    env: { ...environment, SLUICE_PORT: '0', HOME: place },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exited = new Promise<number | null>((resolve) => child.once('exit', resolve));
  let output = '';
  let memory_kb = 0;
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (part: string) => (output += part));
  const seconds: Record<string, string> = {};
  for (const [name, pattern] of [
    ['ready', /is ready at/],
    ['first export completed', /delivered +[\d,]+ events in \d+ completed runs/],
  ] as const) {
    while (!pattern.test(output)) {
      if (child.exitCode !== null || performance.now() - started > wait_ms_max) {
        child.kill('SIGTERM');
        throw new Error(`User ${user} did not come to "${name}":\n${output}`);
      }
      memory_kb = Math.max(memory_kb, memoryOf(child.pid!));
      await pause(100);
    }
    seconds[name] = `${((performance.now() - started) / 1000).toFixed(1)} s`;
  }
  child.kill('SIGTERM');
  const code = await exited;
  if (code !== 0) throw new Error(`User ${user}: it ended with ${code}:\n${output}`);
  console.log(
    `user ${user}: ${JSON.stringify(seconds)}, ${Math.round(memory_kb / 1024)} MB at most, ` +
      (group === undefined ? 'memory not bounded here' : 'bound to 1 GiB'),
  );
}

/** Returns the memory of a process and its descendants; processes that share a page divide it. */
function memoryOf(pid: number): number {
  try {
    const below = readdirSync(`/proc/${pid}/task`)
      .flatMap((task) => readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').split(' '))
      .filter((text) => text !== '');
    const own = /^Pss: +(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'));
    return Number(own?.[1] ?? 0) + below.reduce((sum, id) => sum + memoryOf(Number(id)), 0);
  } catch {
    // It has ended in between.
    return 0;
  }
}

function timed<Result>(name: string, work: () => Result): Result {
  const started = performance.now();
  const result = work();
  console.log(`${name}: ${((performance.now() - started) / 1000).toFixed(1)} s`);
  return result;
}

function npm(options: string[], cwd: string): string {
  return run('npm', [...options, '--no-audit', '--no-fund', '--loglevel', 'error'], cwd);
}

function run(program: string, options: string[], cwd = folder): string {
  return execFileSync(program, options, {
    cwd,
    encoding: 'utf8',
    env: { ...process.env, ...environment },
  });
}

function size(path: string): string {
  return run('du', ['-sh', path]).split('\t')[0]!;
}
