import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { totalmem } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Logger } from '../../log.ts';
import { moduleBeside } from '../../processes/module_beside.ts';
import { engine_missing, isEngineInstalled } from './addon.ts';
import { findFreePort } from '../free_port.ts';
import { alive_ms_max, readyWord, stopSignal } from './orders.ts';
import type { Orders } from './orders.ts';
import { keepShort, openLogFile } from '../log_file.ts';
import type { LogFile } from '../log_file.ts';
import { dieWithParent, ownEnvironment } from '../programs.ts';
import { StartFailure, supervise } from '../supervise.ts';
import type { EmbeddedStore } from '../supervise.ts';

// Each operation occupies a thread of the child's pool; the rest are for its files and for stopping
// queries.
const operationsMax = 40;
const threads = 64;
const memoryBytesMax = 4_000_000_000;
const hungMs = 120_000;
const default_start_seconds = 10;

/** The folder of the store, and its memory limit. */
export type EmbeddedClickHouseOptions = {
  folder: string;
  log: Logger;
  /** Called when its process runs and does not answer yet. */
  spawned?: () => void;
  /**
   * Limit for the memory of all queries together; by default 4 GB or 40 % of the machine's,
   * whichever is smaller.
   */
  memory_bytes_max?: number;
  /**
   * Time without a sign of life after which its process is killed and restarted; 2 minutes by
   * default.
   */
  hung_ms?: number;
  /** Time for which to retry a folder that another process holds; 10 s by default. */
  start_seconds_max?: number;
};

/** Returns the memory of the machine, or of the container of the process. */
function ownMemory(): number {
  const bound = process.constrainedMemory();
  return bound > 0 ? Math.min(totalmem(), bound) : totalmem();
}

/**
 * Opens our own ClickHouse on `folder` (chDB in a child process with ClickHouse's HTTP interface on
 * a loopback port), which ends with this process. Its `url`, with user and password, works with
 * `@clickhouse/client`. An acknowledged insert survives a kill of the child; a crashed child
 * restarts on the same URL. Rejects with a sentence if another process holds the folder for longer
 * than `start_seconds_max`.
 */
export async function openEmbeddedClickHouse(
  options: EmbeddedClickHouseOptions,
): Promise<EmbeddedStore & { readonly memory_bytes_max: number }> {
  if (!isEngineInstalled()) throw new StartFailure(engine_missing);
  const folder = resolve(options.folder);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const hung_ms = options.hung_ms ?? hungMs;
  const orders: Orders = {
    folder,
    port: await findFreePort(),
    password: randomBytes(24).toString('hex'),
    memory_bytes_max:
      options.memory_bytes_max ?? Math.min(memoryBytesMax, Math.floor(ownMemory() * 0.4)),
    operations_max: operationsMax,
    alive_ms: Math.min(alive_ms_max, hung_ms / 10),
  };
  let output: LogFile | undefined;
  const supervisor = await supervise({
    name: 'ClickHouse',
    log: options.log,
    spawn: async () => {
      output = openLogFile(join(folder, 'clickhouse.log'));
      return start(orders, output);
    },
    spawned: options.spawned,
    ready: (child, signal) => whenReady(child, signal, () => output?.read() ?? ''),
    hung: (child) => whenSilent(child, hung_ms),
    askToStop: (child) => child.kill(stopSignal),
    stop_seconds: 10,
    start_seconds: 120,
    start_seconds_max: options.start_seconds_max ?? default_start_seconds,
  });
  return {
    url: `http://sluice:${orders.password}@127.0.0.1:${orders.port}`,
    get pid() {
      return supervisor.pid;
    },
    stop: supervisor.stop,
    memory_bytes_max: orders.memory_bytes_max,
  };
}

function start(orders: Orders, output: LogFile): ChildProcess {
  // KILL instead of TERM: an orderly close of the engine can wait for a merge, and acknowledged
  // data is on disk.
  const [program, ...rest] = [
    ...dieWithParent('KILL'),
    process.execPath,
    fileURLToPath(moduleBeside(import.meta, 'server')),
  ];
  try {
    const child = spawn(program, rest, {
      cwd: orders.folder,
      // The time zone is the engine's default for every DateTime without its own.
      env: { ...ownEnvironment(), TZ: 'UTC', UV_THREADPOOL_SIZE: String(threads) },
      stdio: ['pipe', 'pipe', output.fd],
      detached: true,
    });
    child.stdin?.on('error', () => {});
    // The password goes through the pipe, because everybody can read arguments.
    child.stdin?.write(`${JSON.stringify(orders)}\n`);
    return keepShort(child, output);
  } finally {
    output.close();
  }
}

async function whenReady(
  child: ChildProcess,
  signal: AbortSignal,
  readLog: () => string,
): Promise<void> {
  if (!child.stdout) throw new Error('The ClickHouse process has no output.');
  for await (const line of createInterface({ input: child.stdout, signal }))
    if (line === readyWord) return;
  // The engine only writes the reason to its log.
  const log = readLog();
  if (log.includes('Cannot lock file'))
    throw new Error(
      'The ClickHouse data folder is in use by another process. Stop that process, or set ' +
        'SLUICE_DATA_DIR to another folder.',
    );
  const lines = log.trim().split('\n');
  const told = (lines.find((line) => /error|exception|fatal/i.test(line)) ?? lines.at(-1)!).trim();
  throw new Error(
    'ClickHouse ended while it was starting; clickhouse.log in its data folder says why' +
      (told === '' ? '.' : `: ${told.slice(0, 300)}`),
  );
}

/**
 * Resolves when the child has been silent for `ms`, counted in tenths while this process runs: time
 * during which the machine slept does not count.
 */
function whenSilent(child: ChildProcess, ms: number): Promise<void> {
  return new Promise((resolve) => {
    let silent = 0;
    child.stdout?.on('data', () => {
      silent = 0;
    });
    child.stdout?.resume();
    const tick = setInterval(() => {
      silent += 1;
      if (silent > 10) resolve();
      if (silent > 10) clearInterval(tick);
    }, ms / 10).unref();
    child.once('exit', () => clearInterval(tick));
  });
}
