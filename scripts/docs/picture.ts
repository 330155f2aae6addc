/**
 * Records the moving picture of the README (`npm run docs:picture`): a server as users start it
 * exports to a PostgreSQL, which is stopped and started again, and a person repairs the outage in
 * the console. Counts the rows of the table at the end. Takes some four minutes.
 */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import { until } from '../../test/processes/server_process.ts';
import { openWorld } from '../../test/journeys/world.ts';
import type { World } from '../../test/journeys/world.ts';
import { root } from '../child.ts';
import { encodeFrames, openCamera } from './picture_frames.ts';

const target = join(root, 'docs/screenshots/outage.gif');
const bytes_max = 1_500_000;
const wait_ms_max = 300_000;
const project_id = 1;
const name = 'Orders to the warehouse';
const events_at_once = 40;
const stretch_ms = 1_000;

const folder = await mkdtemp(join(tmpdir(), 'sluice-picture-'));
try {
  const world = await openWorld(folder, undefined);
  try {
    await record(world);
  } finally {
    await world.close();
  }
} finally {
  await rm(folder, { recursive: true });
}

async function record(world: World): Promise<void> {
  const { browser, server } = world;
  const viewport = { width: 1000, height: 600 };
  const context = await browser.newContext({ baseURL: server.address, viewport });
  const page = await context.newPage();
  page.setDefaultTimeout(wait_ms_max);
  await world.signIn(page);
  const sender = openSender(world);
  try {
    const frames = await playOutage(world, page, sender.stop);
    const gif = await encodeFrames(browser, frames);
    await writeFile(target, gif);
    console.log(`${target}: ${frames.length} frames, ${Math.round(gif.length / 1024)} KB`);
    if (gif.length > bytes_max) throw new Error('The picture is too large: keep fewer frames.');
  } finally {
    await sender.stop();
    await context.close();
  }
}

/** Sends events continuously until it is stopped, and returns their number. */
function openSender(world: World) {
  let sent = 0;
  let isStopped = false;
  const sending = (async () => {
    while (!isStopped) {
      await world.send(project_id, events_at_once);
      sent += events_at_once;
      await pause(stretch_ms);
    }
  })();
  const stop = async (): Promise<number> => {
    isStopped = true;
    await sending;
    return sent;
  };
  return { stop };
}

async function playOutage(world: World, page: Page, stopSending: () => Promise<number>) {
  const { warehouse } = world;
  const { film, frames, press, shoot } = openCamera(page);
  const export_id = await createExport(world);
  const path = `/projects/${project_id}/exports/${export_id}`;
  const becomes = (code: string) =>
    until(code, wait_ms_max, 500, async () =>
      (await healthOf(world, export_id)).code === code ? true : undefined,
    );
  await page.goto(path);
  await becomes('up_to_date');
  await page.getByText('Up to date').first().waitFor();
  await shoot('An export delivers orders to PostgreSQL, every minute', 2_500);

  await warehouse.close();
  const wrong = page.getByRole('link', { name: /^See what is wrong/ }).first();
  await film('PostgreSQL stops', wrong.waitFor(), 4);
  await press('Sluice retries, and says what is wrong', wrong);
  await page.getByRole('button', { name: 'Try now' }).first().waitFor();
  const tried = page
    .getByText('Failed attempts')
    .locator('..')
    .getByText(/^[4-9]$/);
  await film('It names the cause, and keeps the rows', tried.waitFor(), 8);

  await warehouse.start();
  await shoot('PostgreSQL is there again', 1_800);
  const button = page.getByRole('button', { name: 'Try now' }).first();
  await press('One button starts the next attempt', button);
  const proof = page.locator('.proof').filter({ hasText: /0 doubled\.$/ });
  await film('Sluice delivers what it kept', proof.first().waitFor(), 6);

  const sent = await stopSending();
  const all = `Sent: ${sent.toLocaleString('en')} events.`;
  const arrived = until('all rows', wait_ms_max, 500, async () => {
    const { rows } = await countRows(world);
    return rows >= sent ? true : undefined;
  });
  await film(all, arrived, 4);
  const { rows, uuids } = await countRows(world);
  assert.deepEqual([rows, uuids], [sent, sent]);
  const number = rows.toLocaleString('en');
  await shoot(`${all} In PostgreSQL: ${number} rows. 0 lost, 0 doubled`, 5_000);
  return frames;
}

async function createExport(world: World): Promise<string> {
  const { port, database, user, password } = world.warehouse;
  const config = { host: '127.0.0.1', port, database, user, password, table_name: 'orders' };
  const { id } = await world.ask('POST', `/api/projects/${project_id}/batch_exports/`, {
    name,
    interval: 'every minute',
    destination: { type: 'Postgres', config: { ...config, require_tls: false } },
  });
  return id as string;
}

async function healthOf(world: World, export_id: string): Promise<{ code: string }> {
  const { results } = await world.ask('GET', `/api/projects/${project_id}/overview/`);
  return results.find(({ id }: { id: string }) => id === export_id).health;
}

async function countRows(world: World): Promise<{ rows: number; uuids: number }> {
  const [counts] = await world.warehouse.ask<{ rows: number; uuids: number }>(
    'SELECT count(*)::int AS rows, count(DISTINCT uuid)::int AS uuids FROM orders',
  );
  return counts!;
}
