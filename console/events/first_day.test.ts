import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, before, test } from 'node:test';
import { promisify } from 'node:util';
import type { Browser } from 'playwright-core';
import { PostHog } from 'posthog-node';
import { createApiKey } from '../../server/platform/http/caller/api_key.ts';
import { pressByKey } from '../../test/console/keyboard.ts';
import { checkEverywhere, openVisitor, untilInPage } from '../../test/console/visitor.ts';
import type { LeftBrowsers } from '../../test/console/visitor.ts';
import { is_deep } from '../../test/depth.ts';
import { shareChromium } from '../../test/processes/chromium.ts';
import { serverEnvironment, startServer, until } from '../../test/processes/server_process.ts';
import type { ServerProcess } from '../../test/processes/server_process.ts';

const chromium = shareChromium();
const { skip } = chromium;
/** The most time from the link to the first completed export on the first day. */
const wait_ms_max = 120_000;

let folder: string;
let server: ServerProcess;
let browser: Browser;
before(async () => {
  if (skip === false) browser = await chromium.open();
  folder = await mkdtemp(join(tmpdir(), 'sluice-first-day-'));
  // As it is started without a setting, but for the port and the folder.
  const environment = serverEnvironment(folder, createApiKey());
  server = await startServer(['start'], environment);
});
after(async () => {
  await chromium.close();
  await server.stop();
  await rm(folder, { recursive: true });
});

test('from the link of the terminal to the first completed export', { skip }, async () => {
  const link = await until(
    'the link',
    60_000,
    50,
    async () => /^ {2}http\S+(\/login\/link\?token=\S+)$/m.exec(server.output())?.[1],
  );
  const began = performance.now();
  const left: LeftBrowsers = [];
  const { page, leave } = await openVisitor(browser, server.address, left);
  // Records the texts that charts draw.
  await page.addInitScript(`window.written = [];
    const { fillText } = CanvasRenderingContext2D.prototype;
    CanvasRenderingContext2D.prototype.fillText = function (text, ...more) {
      window.written.push(text);
      return fillText.call(this, text, ...more);
    };`);
  await page.goto(link);
  await page.getByRole('button', { name: 'Sign in' }).waitFor();
  // Without a mouse, as everything.
  await pressByKey(page, 'Sign in');
  await page.waitForURL('**/projects/1/events');
  await page.getByText('Waiting for your first event').waitFor();
  if (is_deep) await checkEverywhere(page, 'first_day');

  const snippet = page.getByRole('region', { name: 'An SDK' });
  const [, write_key, host] = /init\('(slp_\w+)', { api_host: '(.+)' }/.exec(
    (await snippet.textContent())!,
  )!;
  const client = new PostHog(write_key!, { host: host! });
  client.capture({ distinctId: 'grace', event: 'opened' });
  await client.shutdown();
  await page.getByRole('row', { name: /opened grace/ }).waitFor();
  await page.getByText('1 event stored in this day').waitFor();
  // There is no half of an event.
  await untilInPage(page, "window.written.includes('1')");
  assert.equal(await page.evaluate("window.written.includes('0.5')"), false);
  // The page shows the value of each event that was changed on the way in.
  const body = JSON.stringify({
    api_key: write_key,
    batch: [{ event: 'late', distinct_id: '<b>', timestamp: 'yesterday' }, { event: 'of nobody' }],
  });
  assert.equal((await fetch(`${host}/e/`, { method: 'POST', body })).status, 200);
  const changed = page.getByRole('row', { name: /timestamp_ignored Changed 1/ });
  await changed.waitFor();
  await page.getByRole('row', { name: /distinct_id_missing Refused 1/ }).waitFor();
  await changed.getByText('1 example').click();
  await changed.getByText(/late of <b>.*: yesterday/).waitFor();

  // The copied text is not the command that has the key.
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.getByRole('button', { name: 'Copy One event with curl' }).click();
  await page.getByRole('button', { name: 'Copied One event with curl' }).waitFor();
  await pressByKey(page, 'Create a send-only key');
  await page.getByText('The key is in the commands below.').waitFor();
  await page.getByRole('button', { name: 'Copy One event with curl' }).waitFor();
  const command = (await page.getByRole('region', { name: 'One event with curl' }).textContent())!;
  assert.match(command, /Bearer slk_\w{49}"/);
  const { stdout } = await promisify(execFile)('sh', ['-c', command]);
  assert.equal(JSON.parse(stdout).taken, 1);
  await page.getByText('Events arrive').waitFor();
  await page.getByRole('row', { name: /signed up ada/ }).waitFor();
  await checkEverywhere(page, 'first_day_event');

  await pressByKey(page, 'Create the first export');
  await page.waitForURL(/\/projects\/1\/exports\/[^/]+$/);
  await page.getByRole('heading', { name: 'First export, hourly' }).waitFor();
  const arrived = page.getByRole('region', { name: 'First rows' });
  await arrived.getByText('Your first rows arrived').waitFor({ timeout: wait_ms_max });
  assert.ok(performance.now() - began < wait_ms_max);
  const files = await readdir(join(folder, 'exports/events'), { recursive: true });
  assert.ok(
    files.some((name) => name.includes('.parquet')),
    files.join(),
  );
  // The map has all that was delivered, and calls nothing missing (C-01).
  const legend = page.getByRole('list', { name: 'Slots in view' });
  await legend.getByText('Delivered 24').waitFor();
  assert.doesNotMatch((await legend.textContent())!, /Missing/);
  // The path is the real one.
  const path = (await arrived.locator('p code').textContent())!;
  assert.ok((await stat(resolve(path))).size > 0);
  await arrived.getByText(`read_parquet('${path}')`).waitFor();
  await checkEverywhere(page, 'first_day_done');
  await arrived.getByRole('button', { name: 'Close' }).click();
  await page.reload();
  await legend.getByText('Delivered 24').waitFor();
  assert.equal(await arrived.count(), 0);

  // The link is used up: another visitor opens nothing with it.
  await leave();
  const other = await openVisitor(browser, server.address, left);
  await other.page.goto(link);
  await other.page.getByRole('button', { name: 'Sign in' }).click();
  await other.page.getByRole('alert').filter({ hasText: 'The link was used' }).waitFor();
  await other.leave();
  await Promise.all(left.map((context) => context.close()));
});
