import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { eventually } from '../../../test/eventually.ts';
import { storedEvents, storedPeople } from '../../../test/factories/stored_events.ts';
import { openHarness } from '../../../test/harness.ts';
import type { Harness } from '../../../test/harness.ts';
import { startChromium } from '../../../test/processes/chromium.ts';
import { browser_clients, bundled } from '../../../test/sdks/browser_clients.ts';

const started = await startChromium();
const skip = typeof started === 'string' ? started : false;
const browser = started as Browser;

const scripts = new Map<string, string>();
/** The shop whose pages send: another site than the server that takes the events. */
const shop = createServer((request, response) => {
  const script = scripts.get(decodeURIComponent(request.url!.slice(1)));
  response.setHeader('content-type', script === undefined ? 'text/html' : 'text/javascript');
  const name = new URLSearchParams(request.url!.split('?')[1]).get('client');
  response.end(
    script ??
      '<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,"><title>Shop</title>' +
        `<script src="/${encodeURIComponent(name ?? '')}"></script>`,
  );
});

let harness: Harness;
let address: string;
let site: string;
before(async () => {
  harness = await openHarness();
  address = await harness.app.listen({ host: '127.0.0.1', port: 0 });
  await new Promise<void>((listening) => shop.listen(0, '127.0.0.1', listening));
  site = `http://127.0.0.1:${(shop.address() as AddressInfo).port}`;
});
after(async () => {
  if (skip === false) await browser.close();
  shop.close();
  await harness.close();
});

/** Whatever the console of the page shows, and every request that fails or goes elsewhere. */
function complaintsOf(page: Page): string[] {
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text());
  });
  page.on('request', (request) => {
    const url = request.url();
    if (![address, site, 'data:', 'blob:'].some((start) => url.startsWith(start)))
      complaints.push(`asks for ${url}`);
  });
  page.on('response', (response) => {
    if (response.status() !== 200) complaints.push(`${response.status()} of ${response.url()}`);
  });
  return complaints;
}

for (const client of browser_clients)
  test(`${client.name}: what the page sent is stored`, { skip, timeout: 60_000 }, async () => {
    const { project } = await harness.newOrganization();
    scripts.set(client.name, await bundled(client));
    const context = await browser.newContext();
    const page = await context.newPage();
    const complaints = complaintsOf(page);
    await page.goto(`${site}/?client=${encodeURIComponent(client.name)}`);
    await page.evaluate(async ([host, key]) => await (globalThis as any).send(host, key), [
      address,
      project.api_token,
    ] as const);
    const stored = async () =>
      (await storedEvents(harness.deps, project.id)).map((event) => {
        const { sent } = JSON.parse(event.properties) as { sent?: unknown };
        const who = event.distinct_id === 'ada' ? 'ada' : 'visitor';
        return JSON.stringify([event.event, who, ...(sent === undefined ? [] : [sent])]);
      });
    const wanted = client.wanted.map((one) => JSON.stringify(one)).sort();
    let seen: string[] = [];
    const told = () => `stored: ${seen.join(' ')}; the console: ${complaints.join(' ')}`;
    await eventually('Not all events came.', async () => {
      seen = (await stored()).sort();
      return seen.length >= wanted.length;
    }).catch(() => assert.fail(told()));
    assert.deepEqual(seen, wanted, told());
    // Who was anonymous until then is the same person.
    if (client.wanted.some(([event]) => event === '$identify')) {
      const people = await storedPeople(harness.deps, project.id);
      assert.deepEqual(
        [people.length, people[0]?.length, people[0]?.includes('ada')],
        [1, 2, true],
      );
    }
    await context.close();
    assert.deepEqual(complaints, []);
  });
