import { createServer } from 'node:http';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { clearBrowser } from '../console/visitor.ts';
import { browser_clients, bundled } from './browser_clients.ts';
import type { BrowserClient } from './browser_clients.ts';
import { listen, urlOf } from '../servers/loopback.ts';

/** A visit of a page whose program sends events. */
export type Visit = {
  /** All messages of the page's console, and every request that fails or goes elsewhere. */
  complaints: string[];
  /** Opens the page again, as the same visitor, without sending new events. */
  comeAgain(): Promise<void>;
  leave(): Promise<void>;
};
/** A shop whose pages send events, on another site than the server that ingests them. */
export type Shop = {
  /** Opens the page of a client as a new visitor and lets its program send to the server. */
  visit(client: BrowserClient, address: string, key: string): Promise<Visit>;
  close(): Promise<void>;
};

/** Opens the shop for a browser. */
export async function openShop(browser: Browser): Promise<Shop> {
  const scripts = new Map<string, string>();
  const server = createServer((request, response) => {
    const script = scripts.get(decodeURIComponent(request.url!.slice(1)));
    response.setHeader('content-type', script === undefined ? 'text/html' : 'text/javascript');
    const name = new URLSearchParams(request.url!.split('?')[1]).get('client');
    response.end(
      script ??
        '<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,"><title>Shop</title>' +
          `<script src="/${encodeURIComponent(name ?? '')}"></script>`,
    );
  });
  await listen(server);
  const site = urlOf(server);
  const left: BrowserContext[] = [];
  const enter = async (context: BrowserContext, name: string, address: string) => {
    const page = await context.newPage();
    // A machine that reaches only itself is offline to its browser, and then clients wait.
    await page.addInitScript(
      "Object.defineProperty(Navigator.prototype, 'onLine', { get: () => true })",
    );
    const complaints = complaintsOf(page, [address, site]);
    await page.goto(`${site}/?client=${encodeURIComponent(name)}`);
    return { page, complaints };
  };
  const call = (page: Page, name: 'send' | 'load', address: string, key: string) =>
    page.evaluate(
      async ([what, host, token]) => {
        type Client = (host: string, token: string) => Promise<unknown>;
        return (globalThis as unknown as Record<typeof what, Client>)[what](host, token);
      },
      [name, address, key] as const,
    );
  return {
    visit: async (client, address, key) => {
      if (!scripts.has(client.name)) scripts.set(client.name, await bundled(client));
      // Visitors use the same browser one after another, cleared in between.
      const context = left.pop() ?? (await browser.newContext());
      const { page, complaints } = await enter(context, client.name, address);
      await call(page, 'send', address, key);
      return {
        complaints,
        comeAgain: async () => {
          await page.close();
          const again = await enter(context, client.name, address);
          await call(again.page, 'load', address, key);
        },
        leave: async () => {
          await clearBrowser(context, site);
          left.push(context);
        },
      };
    },
    close: async () => {
      await Promise.all(left.map((context) => context.close()));
      server.close();
      server.closeAllConnections();
    },
  };
}

function complaintsOf(page: Page, addresses: readonly string[]): string[] {
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text());
  });
  page.on('request', (request) => {
    const url = request.url();
    if (![...addresses, 'data:', 'blob:'].some((start) => url.startsWith(start)))
      complaints.push(`asks for ${url}`);
  });
  page.on('response', (response) => {
    if (response.status() !== 200) complaints.push(`${response.status()} of ${response.url()}`);
  });
  return complaints;
}

/** Messages of browser and clients about a request that was cut or refused on its way. */
const of_the_way =
  /^Failed to load resource|^503 of |Failed to fetch|failed with error: 503|Request timed out|^Bad HTTP status|for retry in/;

/**
 * Returns the clients of browsers for the tests with faults. Messages of the page that the faults
 * do not explain go to `complain`. A visitor whose events did not arrive returns, as people do.
 */
export function faultClients(shop: Shop, complain: (client: string, text: string) => void) {
  return browser_clients.map((client) => ({
    ...client,
    wanted: client.wanted.map(([event, who, sent]) => [event, who, sent] as const),
    who: (distinct_id: string) => (distinct_id === 'ada' ? 'ada' : 'visitor'),
    send: async (address: string, key: string, arrived: () => Promise<boolean>) => {
      const { complaints, comeAgain, leave } = await shop.visit(client, address, key);
      if (!(await arrived())) {
        await comeAgain();
        await arrived();
      }
      await leave();
      for (const text of complaints) if (!of_the_way.test(text)) complain(client.name, text);
    },
  }));
}
