import { fastify } from 'fastify';
import { commandLine } from '../platform/command_line.ts';
import { choresOf } from '../api/chores.ts';
import { createSignInLink } from '../api/single_sign_on/let_in.ts';
import { buildApp } from '../app.ts';
import type { Config } from '../config/config.ts';
import { notePort } from '../config/public_url.ts';
import { startWorker } from '../engine/exports/workers/worker.ts';
import { removeDeadFolders } from '../platform/folders/scratch_folders.ts';
import { startChores } from '../platform/pacing/chores.ts';
import { endSilentConnections } from '../platform/http/health/drain.ts';
import { serveHealth } from '../platform/http/health/health.ts';
import { lowerPriority } from '../platform/processes/process_priority.ts';
import type { Logger } from '../platform/log.ts';
import { firstStart } from './first_start.ts';
import { closeApp, listenAt } from './process/listen.ts';
import { openProcess } from './process/process.ts';
import type { OpenProcess } from './process/process.ts';
import { runPlugins } from './run_plugins.ts';
import type { Stores } from './stores/stores.ts';

/**
 * A worker beside an API gets a lower priority: measured, its share matters more than that of the
 * analytics store.
 */
const worker_niceness = 10;

/** A running server. */
export type RunningServer = {
  address: string;
  opened: OpenProcess;
  lost: Promise<void>;
  /**
   * Stops everything in order. With `is_fault`, the reason is an unhandled error, which the runs in
   * progress may have caused.
   */
  stop(end?: { is_fault: boolean }): Promise<void>;
};

/** The parts of a process. */
export type Parts = { api: boolean; worker: boolean };

/**
 * Starts the parts on the stores, in this order: migrations, the first owner, API and worker.
 * Guarantee: if a part cannot start, the earlier ones and the stores are stopped again, and the
 * error is thrown. `say` gets lines for the operator.
 */
export async function serve(
  config: Config,
  log: Logger,
  stores: Stores,
  parts: Parts,
  say: (line: string) => void,
): Promise<RunningServer> {
  if (!parts.api) lowerPriority(worker_niceness);
  const stops: (() => Promise<void>)[] = [() => stores.close()];
  let isFault = false;
  const stop = once(async () => {
    for (const step of stops.toReversed())
      await step().catch((error: unknown) => log.error({ err: error }, 'stopping'));
  });
  try {
    await removeDeadFolders();
    const opened = await openProcess(
      config,
      stores,
      log,
      parts.api && parts.worker ? 'server' : parts.api ? 'api' : 'worker',
    );
    stops.push(() => opened.close());
    if (parts.worker) {
      const { worker_runs_max: runs_max, project_runs_max, host_runs_max } = config;
      const limits = { runs_max, project_runs_max, host_runs_max };
      const worker = await startWorker(opened.deps.engine, limits);
      stops.push(() => worker.stop({ is_fault: isFault }));
    }
    let plugins: { stop(): Promise<void> } | undefined;
    stops.push(async () => plugins?.stop());
    const address = parts.api
      ? await listen(config, opened, stops, say, () => isFault)
      : await listenForHealth(config, opened, stops, say);
    // Plugins need the server's address, which is known only now.
    if (parts.worker) plugins = runPlugins(opened.deps);
    const stopBecause = (end = { is_fault: false }) => {
      isFault = end.is_fault;
      return stop();
    };
    return { address, opened, lost: stores.lost, stop: stopBecause };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function listen(
  config: Config,
  opened: OpenProcess,
  stops: (() => Promise<void>)[],
  say: (line: string) => void,
  isFault: () => boolean,
): Promise<string> {
  const app = buildApp(opened.deps);
  // After an unhandled error, requests do not get more time.
  stops.push(() => closeApp(app, isFault() ? 0 : config.drain_seconds));
  // The port is opened first: otherwise a taken port would hide the password of a new owner.
  const { host, port } = config;
  const address = await listenAt(app, { host, port, variable: 'SLUICE_PORT' });
  notePort(config, address);
  const created = await firstStart(opened.deps);
  const chores = startChores(choresOf(opened.deps), opened.deps.log);
  stops.push(() => chores.stop());
  // Before the ready line, because its reader may stop the server at once.
  const link =
    created === undefined ? undefined : await createSignInLink(opened.deps, created.email);
  say(`Sluice is ready at ${address} (console /, API /api/, documentation /docs/).`);
  if (created !== undefined) {
    if (link !== undefined && 'url' in link) {
      say('');
      say('Open this to sign in; it works once, within 15 minutes:');
      say(`  ${link.url}`);
    }
    say('');
    say('This is the first start. Keep these, they are shown only now:');
    say(`  owner      ${created.email}`);
    say(`  password   ${created.password ?? '(the one of SLUICE_OWNER_PASSWORD)'}`);
    say(`  API key    ${created.api_key}`);
    say('');
    const bearer = `Authorization: Bearer ${created.api_key}`;
    say(`Try: curl -H '${bearer}' ${address}/api/organizations/@current/`);
    say(`Or:  ${commandLine('login')}, then ${commandLine('exports create --help')}`);
  }
  return address;
}

/** A worker without an API serves its own health and metrics if configured. */
async function listenForHealth(
  { host, worker_port }: Config,
  opened: OpenProcess,
  stops: (() => Promise<void>)[],
  say: (line: string) => void,
): Promise<string> {
  if (worker_port === undefined) return 'none';
  const app = fastify();
  endSilentConnections(app);
  serveHealth(app, opened.deps);
  stops.push(() => closeApp(app, 0));
  const address = await listenAt(app, { host, port: worker_port, variable: 'SLUICE_WORKER_PORT' });
  say(`The worker answers /healthz, /readyz and /metrics at ${address}.`);
  return address;
}

function once(work: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined;
  return () => (done ??= work());
}
