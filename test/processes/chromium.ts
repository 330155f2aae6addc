import assert from 'node:assert/strict';
import { createReadStream, createWriteStream, existsSync } from 'node:fs';
import { mkdir, readFile, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createBrotliDecompress } from 'node:zlib';
import { chromium } from 'playwright-core';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { silentLog } from '../../server/platform/log.ts';
import { openMail } from '../../server/platform/mail/mail.ts';
import { openHarness } from '../harness.ts';
import type { Harness } from '../harness.ts';
import { openMailServer } from '../servers/mail_server.ts';
import type { TestClock } from '../factories/people.ts';

const patience_ms = 10_000;

/** Of this process, whose test files may all ask at once. */
let unpacked: Promise<string> | undefined;

/**
 * Starts the Chromium of the development packages, without a window; gives the reason, as a
 * sentence, where it does not run on this machine.
 */
export async function startChromium(): Promise<Browser | string> {
  try {
    return await chromium.launch({
      executablePath: await (unpacked ??= unpackChromium()),
      args: ['--disable-gpu', '--disable-dev-shm-usage'],
    });
  } catch (error) {
    return `Chromium does not start here: ${String(error).split('\n')[0]}`;
  }
}

/**
 * Where the program is. It is unpacked once for each version; processes that do so at once do not
 * disturb each other.
 */
async function unpackChromium(): Promise<string> {
  const installed = import.meta.resolve('@sparticuz/chromium');
  const { version } = JSON.parse(await readFile(new URL('../package.json', installed), 'utf8')) as {
    version: string;
  };
  const program = fileURLToPath(
    new URL(`../../node_modules/.cache/sluice/chromium-${version}`, import.meta.url),
  );
  if (existsSync(program)) return program;
  const unfinished = `${program}.${process.pid}`;
  await mkdir(dirname(program), { recursive: true });
  await pipeline(
    createReadStream(new URL('../bin/chromium.br', installed)),
    createBrotliDecompress(),
    createWriteStream(unfinished, { mode: 0o755 }),
  );
  await rename(unfinished, program);
  return program;
}

/** A server that browsers reach, with the relay that its mails come to. */
export type PageServer = {
  harness: Harness;
  address: string;
  /**
   * The link in the latest mail to the address, once one with this text in its subject has come.
   */
  linkIn(to: string, subject: string): Promise<string>;
  close(): Promise<void>;
};

/** Starts the server on a port of its own. */
export async function openPageServer(clock: TestClock): Promise<PageServer> {
  const relay = await openMailServer();
  const mail = openMail({
    url: relay.url,
    from: 'Sluice <sluice@example.com>',
    log: silentLog(),
    clock,
  });
  const harness = await openHarness({ clickhouse: false, deps: { mail, clock } });
  const address = await harness.app.listen({ host: '127.0.0.1', port: 0 });
  // Known only now; links in mails and what counts as the own site follow it.
  harness.deps.config.public_url = address;
  return {
    harness,
    address,
    linkIn: async (to, subject) => {
      const signal = AbortSignal.timeout(patience_ms);
      for (;;) {
        const mail = relay.mails.findLast(
          (one) => one.to.includes(to) && one.content.subject?.includes(subject),
        );
        if (mail !== undefined) return /^http\S+$/m.exec(mail.content.text ?? '')![0];
        await setTimeout(2, undefined, { signal });
      }
    },
    close: async () => {
      await harness.close();
      await relay.close();
    },
  };
}

/** A browser of one person. */
export type Visitor = {
  context: BrowserContext;
  page: Page;
  /**
   * What its console told: a page broke its own policy, a script failed, something was asked of
   * another site.
   */
  complaints: string[];
  /** Closes it; fails when there are complaints. */
  leave(): Promise<void>;
};

/** Opens a browser without cookies at the server's address. */
export async function openVisitor(
  browser: Browser,
  address: string,
  options: Parameters<Browser['newContext']>[0] = {},
): Promise<Visitor> {
  const context = await browser.newContext({ baseURL: address, ...options });
  context.setDefaultTimeout(patience_ms);
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('console', (message) => {
    // A refusal of the API is no fault of the page.
    const isRefusal = message
      .text()
      .startsWith('Failed to load resource: the server responded with a status of 4');
    if (!isRefusal && (message.type() === 'error' || message.type() === 'warning'))
      complaints.push(message.text());
  });
  page.on('request', (request) => {
    if (!request.url().startsWith(`${address}/`)) complaints.push(`asks for ${request.url()}`);
  });
  const leave = async () => {
    await context.close();
    assert.deepEqual(complaints, []);
  };
  return { context, page, complaints, leave };
}

/**
 * Fails when the page is wider than the screen, or cannot be told by ear: a field without a label,
 * a button or link without a name, an id that stands twice or nowhere.
 */
export async function checkPage(page: Page): Promise<void> {
  // A text, because the page's own names are not known here.
  const faults = await page.evaluate<string[]>(`[
    ...[...document.querySelectorAll('input:not([type=hidden], [hidden]), select')]
      .filter((field) => field.labels.length === 0)
      .map((field) => 'no label: ' + field.name),
    ...[...document.querySelectorAll('button, a')]
      .filter((one) => one.textContent.trim() === '')
      .map((one) => 'no name: ' + one.outerHTML),
    ...[...document.querySelectorAll('[id]')]
      .map(({ id }) => id)
      .filter((id, index, all) => all.indexOf(id) !== index)
      .map((id) => 'twice: ' + id),
    ...[...document.querySelectorAll('[aria-describedby], [aria-labelledby]')]
      .flatMap((one) =>
        ['aria-describedby', 'aria-labelledby'].flatMap((name) =>
          (one.getAttribute(name) ?? '').split(' ')))
      .filter((id) => id !== '' && document.getElementById(id) === null)
      .map((id) => 'nothing has the id ' + id),
    ...(document.querySelectorAll('h1, main').length === 2 ? [] : ['not one h1 and one main']),
    ...(document.documentElement.scrollWidth <= window.innerWidth ? [] : ['wider than the screen']),
  ]`);
  assert.deepEqual(faults, [], page.url());
}

/**
 * What the element with the focus is called, and the last that describes it, as
 * `label: description`.
 */
export function focused(page: Page): Promise<string> {
  return page.evaluate<string>(`(() => {
    const { activeElement: element } = document;
    const notes = (element.getAttribute('aria-describedby') ?? '')
      .split(' ')
      .map((id) => document.getElementById(id)?.textContent.trim() ?? '')
      .filter((note) => note !== '');
    return (element.labels?.[0] ?? element).textContent.trim() + ': ' + (notes.at(-1) ?? '');
  })()`);
}
