import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { createApiKey } from '../../server/platform/http/caller/api_key.ts';
import { startChromium } from '../../test/processes/chromium.ts';
import {
  call,
  serverEnvironment,
  startServer,
  until,
} from '../../test/processes/server_process.ts';

/** Sends the server a request, and returns the body of its answer; throws for a refusal. */
type Ask = (method: string, path: string, body?: unknown) => Promise<Record<string, unknown>>;

/** The ids of the records on the pages of a filled server. */
export type Filled = {
  /** An export that delivers, with a gap in its map. */
  export_id: string;
  /** The export of the demo, and a run of it. */
  demo_id: string;
  run_id: string;
  event_id: string;
  /** An export whose destination does not answer. */
  failing_id: string;
  organization_id: string;
  plugin_id: number;
  domain_id: string;
  erasure_id: string;
  /** The Iceberg table that an export made. */
  lake_table_id: string;
  /** A project without events. */
  empty_id: number;
};

/** Time until the first scheduled run of five minutes has ended. */
const wait_ms_max = 420_000;
const hour_ms = 3_600_000;
const exports_path = '/api/projects/1/batch_exports/';
const password = 'correct horse battery staple';

/** Starts a server as users do, with the demo and more, and a browser that opens it. */
export async function openFilledConsole() {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-filled-'));
  const key = createApiKey();
  const server = await startServer(['start', '--demo'], serverEnvironment(folder, key));
  const browser = await startChromium();
  const close = async () => {
    await browser.close();
    await server.stop();
    await rm(folder, { recursive: true });
  };
  try {
    await until('the demo', wait_ms_max, 200, async () =>
      server.output().includes('Look further:') ? true : undefined,
    );
    const filled = await fillConsole(asking(server.address, key));
    const context = await browser.newContext({ baseURL: server.address });
    return { browser, page: await context.newPage(), filled, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Returns a function that sends requests to the server at an address with a key. */
function asking(address: string, key: string): Ask {
  return async (method, path, body) => {
    const answer = await call(address, key, method, path, body);
    if (answer.status >= 400) throw new Error(`${path}: ${JSON.stringify(answer.body)}`);
    return answer.body;
  };
}

/**
 * Adds to the demo of a new server what a company has after some weeks: exports in each state, an
 * unreachable destination, a plugin with code, invites, a domain, a notice target, an erasure.
 * Waits until the first scheduled runs have ended.
 */
async function fillConsole(ask: Ask): Promise<Filled> {
  const { organization } = await ask('GET', '/api/projects/1/');
  const organization_id = organization as string;
  const { lake, failing } = await createExports(ask);
  const others = await createOthers(ask, organization_id);
  await until('the first scheduled runs', wait_ms_max, 500, async () => {
    const results = await listOf(ask, '/api/projects/1/overview/');
    const all = results as { id: string; health: { code: string; detail: string } }[];
    const health = new Map(all.map((one) => [one.id, one.health]));
    const isTried = health.get(failing)?.detail.includes('does not answer') === true;
    return isTried && health.get(lake)?.code === 'up_to_date' ? true : undefined;
  });
  const listed = await listOf(ask, `${exports_path}?ordering=created_at`);
  const demo_id = (listed as { id: string; name: string }[]).find(({ name }) =>
    name.startsWith('Web shop'),
  )!.id;
  const runs = await listOf(ask, `${exports_path}${demo_id}/runs/?limit=10`);
  const run_id = (runs as { id: string; records_completed: number }[]).find(
    ({ records_completed: rows }) => rows > 0,
  )!.id;
  const [event] = await listOf(ask, '/api/projects/1/events/?limit=1');
  const { uuid: event_id } = event as { uuid: string };
  const lake_table_id = await until('the table', wait_ms_max, 500, async () => {
    const [table] = await listOf(ask, '/api/projects/1/lake_tables/');
    return (table as { id: string } | undefined)?.id;
  });
  const ids = { lake_table_id, export_id: lake, failing_id: failing, demo_id, run_id, event_id };
  return { ...ids, organization_id, ...others };
}

/**
 * Creates the exports: one has delivered slots, a gap and future slots, one has an unreachable
 * destination, one is paused and one waits.
 */
async function createExports(ask: Ask) {
  const create = async (name: string, more: object) => {
    const body = { name, interval: 'hour', model: 'events', ...more };
    return (await ask('POST', exports_path, body))['id'] as string;
  };
  const file = { type: 'File', config: { prefix: 'pictures', file_format: 'JSONLines' } };
  const lake = await create('Events to the lake', {
    interval: 'every 5 minutes',
    destination: file,
  });
  const warehouse = {
    type: 'Postgres',
    config: { user: 'sluice', password: 'x', host: '127.0.0.1', port: 9, database: 'shop' },
  };
  const failing = await create('Persons to the warehouse', {
    model: 'persons',
    interval: 'every 5 minutes',
    destination: { ...warehouse, config: { ...warehouse.config, table_name: 'persons' } },
  });
  const paused = await create('Events to the warehouse', { destination: warehouse });
  await ask('POST', `${exports_path}${paused}/pause/`, {});
  const table = await create('Events as a table', {
    destination: { type: 'Iceberg', config: { storage: 'File', table: 'events' } },
  });
  await ask('POST', `${exports_path}${table}/run/`, {});
  await create('Orders by day', { interval: 'day', destination: { type: 'NoOp', config: {} } });
  const now = Math.floor(Date.now() / hour_ms) * hour_ms;
  for (const [from, to] of [
    [-7, -4],
    [-3, 0],
  ] as const)
    await ask('POST', `${exports_path}${lake}/backfill/`, {
      by: 'inserted_at',
      start_at: new Date(now + from * hour_ms).toISOString(),
      end_at: new Date(now + to * hour_ms).toISOString(),
    });
  await until('the backfills', wait_ms_max, 500, async () => {
    const results = await listOf(ask, `${exports_path}${lake}/backfills/`);
    const all = results as { finished_at: string | null }[];
    return all.some(({ finished_at }) => finished_at === null) ? undefined : true;
  });
  return { lake, failing };
}

async function createOthers(ask: Ask, organization_id: string) {
  const in_organization = `/api/organizations/${organization_id}`;
  const create = async (path: string, body: object) => (await ask('POST', path, body))['id'];
  for (const target_email of ['ada@example.com', 'grace@example.org'])
    await create(`${in_organization}/invites/`, { target_email, level: 1 });
  await create(`${in_organization}/connections/`, {
    name: 'Warehouse',
    type: 'Postgres',
    config: { user: 'sluice', password: 'x', host: '127.0.0.1', port: 9, database: 'shop' },
  });
  const domain_id = await create(`${in_organization}/domains/`, { domain: 'example.org' });
  const type = 'email';
  await create('/api/projects/1/notice_targets/', { type, address: 'on-call@example.com' });
  const erasure_id = await create('/api/projects/1/erasures/', { distinct_ids: ['shopper-19'] });
  const plugins = `${in_organization}/pipeline_destinations/`;
  const plugin_id = await create(plugins, { name: 'Orders to the chat' });
  await ask('PUT', `${plugins}${plugin_id as number}/update_source/`, {
    source: {
      'plugin.json': JSON.stringify({ name: 'Orders to the chat', config: [] }),
      'index.js':
        '// Sluice calls this function with each new event of the project.\n' +
        'export async function onEvent(event) {\n  console.log(event.event);\n}\n',
    },
    tag: '1.0.0',
  });
  const empty_id = await create('/api/projects/', {
    name: 'Empty project',
    organization: organization_id,
  });
  return {
    domain_id: domain_id as string,
    erasure_id: erasure_id as string,
    plugin_id: plugin_id as number,
    empty_id: empty_id as number,
  };
}

async function listOf(ask: Ask, path: string): Promise<unknown[]> {
  return (await ask('GET', path))['results'] as unknown[];
}

/** Signs in the owner of the demo; the page then shows the exports. */
export async function signIn(page: Page): Promise<void> {
  await page.goto('/login?next=/projects/1/exports');
  await page.getByLabel('E-mail address').fill('owner@example.com');
  await page.getByLabel('Password', { exact: true }).fill(password);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.getByRole('heading', { name: 'Exports' }).waitFor();
}
