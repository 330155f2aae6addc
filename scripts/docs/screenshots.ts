/**
 * Takes the pictures of the console that docs/console.md and the README show
 * (`npm run docs:screenshots`): a server as users start it, filled by its demo and by what is asked
 * of its API, looked at in Chromium. Fails when a picture is heavier than a page should carry.
 */
import { mkdir, mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { createApiKey } from '../../server/platform/http/caller/api_key.ts';
import { chooseDestination } from '../../test/console/choose_destination.ts';
import { startChromium } from '../../test/processes/chromium.ts';
import {
  call,
  serverEnvironment,
  startServer,
  until,
} from '../../test/processes/server_process.ts';
import { root } from '../child.ts';

const target = join(root, 'docs/screenshots');
const picture_bytes_max = 145 * 1024;
const all_bytes_max = 1_200 * 1024;
/** The first scheduled run of five minutes has to be over. */
const wait_ms_max = 420_000;
const hour_ms = 3_600_000;
const base = '/api/projects/1/batch_exports/';
const password = 'correct horse battery staple';

/** Shows a page, and waits for what says that it is whole. */
type Shot = {
  name: string;
  path: string;
  shown: string;
  theme?: 'dark';
  height?: number;
  prepare?: Prepare;
};
type Prepare = (page: Page) => Promise<unknown>;
/** The export whose map has something on it, that of the demo, a run and an event of it. */
type Filled = Record<'export_id' | 'demo_id' | 'run_id' | 'event_id' | 'organization_id', string>;

const browser = await startChromium();
const folder = await mkdtemp(join(tmpdir(), 'sluice-screenshots-'));
const key = createApiKey();
const server = await startServer(['start', '--demo'], serverEnvironment(folder, key));
try {
  await until('the demo', wait_ms_max, 200, async () =>
    server.output().includes('Look further:') ? true : undefined,
  );
  const filled = await fill();
  await mkdir(target, { recursive: true });
  const context = await browser.newContext({ baseURL: server.address });
  const page = await context.newPage();
  await page.goto('/login?next=/projects/1/exports');
  await page.getByLabel('E-mail address').fill('owner@example.com');
  await page.getByLabel('Password', { exact: true }).fill(password);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.getByRole('heading', { name: 'Exports' }).waitFor();
  for (const shot of shotsOf(filled)) await take(page, shot);
  await checkWeight();
} finally {
  await browser.close();
  await server.stop();
  await rm(folder, { recursive: true });
}

async function ask(method: string, path: string, body?: unknown) {
  const answer = await call(server.address, key, method, path, body);
  if (answer.status >= 400) throw new Error(`${path}: ${JSON.stringify(answer.body)}`);
  return answer.body;
}

/**
 * More exports: one has delivered slots, a gap, and what is to come; the destination of one does
 * not answer, one is paused and one waits.
 */
async function fill(): Promise<Filled> {
  const create = async (name: string, more: object) =>
    (await ask('POST', base, { name, interval: 'hour', model: 'events', ...more }))['id'] as string;
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
  await ask('POST', `${base}${paused}/pause/`, {});
  await create('Orders by day', { interval: 'day', destination: { type: 'NoOp', config: {} } });
  const now = Math.floor(Date.now() / hour_ms) * hour_ms;
  for (const [from, to] of [
    [-7, -4],
    [-3, 0],
  ] as const)
    await ask('POST', `${base}${lake}/backfill/`, {
      by: 'inserted_at',
      start_at: new Date(now + from * hour_ms).toISOString(),
      end_at: new Date(now + to * hour_ms).toISOString(),
    });
  await until('the backfills', wait_ms_max, 500, async () => {
    const { results } = await ask('GET', `${base}${lake}/backfills/`);
    const all = results as { finished_at: string | null }[];
    return all.some(({ finished_at }) => finished_at === null) ? undefined : true;
  });
  await until('the first scheduled runs', wait_ms_max, 500, async () => {
    const { results } = await ask('GET', '/api/projects/1/overview/');
    const all = results as { id: string; health: { code: string; detail: string } }[];
    const health = new Map(all.map((one) => [one.id, one.health]));
    const isTried = health.get(failing)?.detail.includes('does not answer') === true;
    return isTried && health.get(lake)?.code === 'up_to_date' ? true : undefined;
  });
  const { results: listed } = await ask('GET', `${base}?ordering=created_at`);
  const demo_id = (listed as { id: string; name: string }[]).find(({ name }) =>
    name.startsWith('Web shop'),
  )!.id;
  const { results: runs } = await ask('GET', `${base}${demo_id}/runs/?limit=10`);
  const run_id = (runs as { id: string; records_completed: number }[]).find(
    ({ records_completed: rows }) => rows > 0,
  )!.id;
  const { results: events } = await ask('GET', '/api/projects/1/events/?limit=1');
  const [{ uuid: event_id }] = events as [{ uuid: string }];
  const { organization } = await ask('GET', '/api/projects/1/');
  return { export_id: lake, demo_id, run_id, event_id, organization_id: organization as string };
}

function shotsOf({ export_id, demo_id, run_id, event_id, organization_id }: Filled): Shot[] {
  const demo = `/projects/1/exports/${demo_id}`;
  return [
    { name: 'exports', path: '/projects/1/exports', shown: 'Events to the lake' },
    { name: 'exports_dark', path: '/projects/1/exports', shown: 'Orders by day', theme: 'dark' },
    {
      name: 'palette',
      path: '/projects/1/exports',
      shown: 'Orders by day',
      prepare: async (page) => {
        await page.keyboard.press('Control+k');
        await page.getByRole('combobox', { name: 'Page, export or action' }).fill('ord');
        await page.getByRole('option', { name: 'Orders by day' }).waitFor();
      },
    },
    {
      name: 'map',
      path: `/projects/1/exports/${export_id}`,
      shown: 'Slots in view as a table',
      prepare: async (page) => {
        await page.getByRole('button', { name: 'Day', exact: true }).click();
        await page.waitForURL('**from=**');
      },
    },
    { name: 'run', path: `${demo}/runs/${run_id}`, shown: 'Completed', height: 620 },
    {
      name: 'metrics',
      path: `${demo}/metrics`,
      shown: 'Rows delivered',
      prepare: async (page) => {
        await page.getByRole('button', { name: 'Day', exact: true }).click();
        await page.waitForURL('**from=**');
      },
    },
    {
      name: 'new_export',
      path: '/projects/1/exports/new',
      shown: 'Destination',
      prepare: (page) => chooseDestination(page, 'S3'),
    },
    {
      name: 'find',
      path: `/projects/1/find?uuid=${event_id}`,
      shown: 'Web shop demo',
      height: 620,
    },
    {
      name: 'members',
      path: `/organizations/${organization_id}/members`,
      shown: 'owner@example.com',
    },
  ];
}

async function take(
  page: Page,
  { name, path, shown, theme, height = 800, prepare }: Shot,
): Promise<void> {
  await page.emulateMedia({ colorScheme: theme ?? 'light', reducedMotion: 'reduce' });
  await page.setViewportSize({ width: 1280, height });
  await page.goto(path);
  await page.getByText(shown).first().waitFor();
  await prepare?.(page);
  await page.waitForLoadState('networkidle');
  await page.screenshot({ path: join(target, `${name}.png`) });
}

async function checkWeight(): Promise<void> {
  const names = (await readdir(target)).filter((name) => name.endsWith('.png'));
  let all = 0;
  for (const name of names) {
    const { size } = await stat(join(target, name));
    console.log(`${name}: ${Math.round(size / 1024)} KB`);
    if (size > picture_bytes_max) throw new Error(`${name} has ${size} bytes: show less on it.`);
    all += size;
  }
  if (all > all_bytes_max) throw new Error(`The pictures have ${all} bytes: take fewer.`);
}
