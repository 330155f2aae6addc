import assert from 'node:assert/strict';
import type { Browser, Page } from 'playwright-core';
import { createApiKey } from '../../server/platform/http/caller/api_key.ts';
import { startChromium } from '../processes/chromium.ts';
import { call, serverEnvironment, startServer } from '../processes/server_process.ts';
import type { ServerProcess } from '../processes/server_process.ts';
import { openDnsServer } from '../servers/dns_server.ts';
import type { DnsServer } from '../servers/dns_server.ts';
import { openHttpReceiver } from '../servers/http_receiver.ts';
import type { HttpReceiver } from '../servers/http_receiver.ts';
import { openMailServer } from '../servers/mail_server.ts';
import type { MailServer } from '../servers/mail_server.ts';
import { walk } from './walker.ts';
import type { Walked, Walker } from './walker.ts';
import { openWarehouse } from './warehouse.ts';
import type { Warehouse } from './warehouse.ts';

/** Returns the answer to a request of the owner's key; fails for a status of 400 or more. */
export type Ask = (method: string, path: string, body?: unknown) => Promise<Record<string, any>>;

/** A server as users start it, and the servers around it. */
export type World = {
  folder: string;
  server: ServerProcess;
  browser: Browser;
  warehouse: Warehouse;
  receiver: HttpReceiver;
  mail: MailServer;
  dns: DnsServer;
  ask: Ask;
  /** Creates a project for a journey. */
  newProject(name: string): Promise<number>;
  /** Ingests events into a project; their time is now. */
  send(project_id: number, count: number, distinct_id?: string): Promise<string[]>;
  /** Walks without a sign-in, or as the owner. */
  walk(name: string, journey: (walker: Walker) => Promise<void>): Promise<Walked>;
  signIn(page: Page): Promise<void>;
  close(): Promise<void>;
};

const owner = 'owner@example.com';
const password = 'correct horse battery staple';

/** Starts everything; if a part does not start, it ends the others. */
export async function openWorld(folder: string, shots: string | undefined): Promise<World> {
  const closing: (() => Promise<unknown>)[] = [];
  const opened = async <Part extends { close(): Promise<unknown> }>(part: Promise<Part>) => {
    const open = await part;
    closing.push(() => open.close());
    return open;
  };
  const close = async () => {
    for (const step of closing.splice(0).toReversed()) await step();
  };
  try {
    const dns = await opened(openDnsServer());
    const mail = await opened(openMailServer());
    const receiver = await opened(openHttpReceiver({}));
    const warehouse = await opened(openWarehouse(folder));
    const key = createApiKey();
    // Starts it without settings, except ports, folders and the servers around it.
    const environment = serverEnvironment(folder, key, {
      SLUICE_DNS_SERVERS: dns.address,
      SLUICE_SMTP_URL: mail.url,
    });
    const server = await startServer(['start'], environment);
    closing.push(() => server.stop());
    const browser = await opened(startChromium());
    const ask: Ask = async (method, path, body) => {
      const answer = await call(server.address, key, method, path, body);
      assert.ok(answer.status < 400, `${method} ${path}: ${JSON.stringify(answer.body)}`);
      return answer.body;
    };
    return {
      folder,
      server,
      browser,
      warehouse,
      receiver,
      mail,
      dns,
      ask,
      close,
      newProject: async (name) => (await ask('POST', '/api/projects/', { name }))['id'] as number,
      send: sendBy(ask),
      walk: async (name, journey) => {
        const viewport = { width: 1440, height: 900 };
        const context = await browser.newContext({ baseURL: server.address, viewport });
        try {
          return await walk({ context, address: server.address, shots }, name, journey);
        } finally {
          await context.close();
        }
      },
      signIn,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

const sendBy =
  (ask: Ask): World['send'] =>
  async (project_id, count, distinct_id = 'ada') => {
    const events = Array.from({ length: count }, () => ({
      uuid: crypto.randomUUID(),
      event: 'ordered',
      distinct_id,
    }));
    for (let from = 0; from < count; from += 1000)
      await ask('POST', `/api/projects/${project_id}/events/`, {
        events: events.slice(from, from + 1000),
      });
    return events.map(({ uuid }) => uuid);
  };

async function signIn(page: Page): Promise<void> {
  await page.goto('/login?next=/account');
  await page.getByLabel('E-mail address').fill(owner);
  await page.getByLabel('Password', { exact: true }).fill(password);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.getByText(`You are signed in as ${owner}`).waitFor();
}
