import { after, afterEach, before, beforeEach } from 'node:test';
import sql from 'sql-template-tag';
import { openHarness } from '../../harness.ts';
import type { Harness, TestOrganization } from '../../harness.ts';
import { keepSandbox, openPluginTarget } from './running_plugins.ts';
import type { PluginTarget } from './running_plugins.ts';
import { until } from '../../processes/server_process.ts';
import { runPlugins } from '../../../server/cli/run_plugins.ts';

const wait_ms_max = 60_000;

/** Opened before the tests of the file that imports it, and closed after them. */
export let harness: Harness;

/** A new one for each test. */
export let target: PluginTarget;

/** A new organization for each test. */
export let home: TestOrganization;

let runners: { stop(): Promise<void> }[] = [];

/** Starts a runner; it is stopped after the test. */
export function run(idle_seconds = 1, retry_seconds = 0.05): void {
  runners.push(runPlugins(harness.deps, { retry_seconds, idle_seconds }));
}

/** Stops all runners. */
export async function stopAll(): Promise<void> {
  await Promise.all(runners.map((runner) => runner.stop()));
  runners = [];
}

/** Waits for at most the time of a test. */
export const soon = <Result>(what: string, ask: () => Promise<Result | undefined>) =>
  until(what, wait_ms_max, 20, ask);

/** Returns the target's requests, once there are this many. */
export const taken = (count: number) =>
  soon(`${count} requests`, async () =>
    target.taken.length >= count ? target.taken : undefined,
  ).catch(async (error: unknown) => {
    // The plugin's log says why it sent no more.
    const said = await harness.deps.db.rows<{ message: string }>(
      sql`SELECT message FROM plugin_logs ORDER BY id DESC LIMIT 10`,
    );
    const lines = said.map(({ message }) => message).join(' | ');
    throw new Error(`${String(error)} ${target.taken.length} came. ${lines}`);
  });

const read = async (url: string) => (await home.ask('GET', url)).body;

/** Returns the config, once it is disabled. */
export const stopped = (url: string) =>
  soon('the stop', async () => {
    const config = await read(url);
    return config.enabled === false ? config : undefined;
  });

/** Code of a plugin: `post` sends a body to the address of its config. */
export const send = `
  const post = async (config, body) => {
    const { status } = await fetch(config.address, { method: 'POST', body: JSON.stringify(body) });
    if (status >= 500) throw new RetryError('answered ' + status);
    if (status >= 400) throw new Error('refused ' + status);
  };`;

/**
 * Opens the exports of this file before the tests of the file that calls it, and closes them after.
 * Each test file calls it itself, because hooks of an imported module may run before its tests.
 */
export function openAroundTests(): void {
  before(async () => {
    harness = await openHarness({ config: { plugin_failures_max: 3 } });
    await keepSandbox(harness);
  });
  after(() => harness.close());
  beforeEach(async () => {
    target = await openPluginTarget();
    home = await harness.newOrganization();
  });
  afterEach(async () => {
    await stopAll();
    await target.close();
  });
}
