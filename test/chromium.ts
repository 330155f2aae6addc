import assert from 'node:assert/strict';
import sparticuz from '@sparticuz/chromium';
import { chromium } from 'playwright-core';
import type { Browser, BrowserContext, Page } from 'playwright-core';

const patience_ms = 10_000;

/** Starts the Chromium of the development packages, without a window; gives the reason, as a sentence, where it does not run on this machine. */
export async function startChromium(): Promise<Browser | string> {
  try {
    // Not the package's own arguments: some of them switch off what browsers check, which is what is tested.
    return await chromium.launch({ executablePath: await sparticuz.executablePath(), args: ['--disable-gpu', '--disable-dev-shm-usage'] });
  } catch (error) {
    return `Chromium does not start here: ${String(error).split('\n')[0]}`;
  }
}

/** A browser of one person, with the faults that its console told. */
export type Visitor = { context: BrowserContext; page: Page; complaints: string[] };

/** Opens a browser without cookies at the server's address. */
export async function openVisitor(browser: Browser, address: string, options: Parameters<Browser['newContext']>[0] = {}): Promise<Visitor> {
  const context = await browser.newContext({ baseURL: address, ...options });
  context.setDefaultTimeout(patience_ms);
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text());
  });
  page.on('request', (request) => {
    if (!request.url().startsWith(`${address}/`)) complaints.push(`asks for ${request.url()}`);
  });
  return { context, page, complaints };
}

/** Fails when something on the page cannot be told by ear: a field without a label, two elements with one id, a button without a name. */
export async function checkNames(page: Page): Promise<void> {
  // A text, because the page's own names are not known here.
  const faults = await page.evaluate<string[]>(`[
    ...[...document.querySelectorAll('input:not([type=hidden], [hidden]), select')].filter((field) => field.labels.length === 0).map((field) => 'no label: ' + field.name),
    ...[...document.querySelectorAll('button, a')].filter((one) => one.textContent.trim() === '').map((one) => 'no name: ' + one.outerHTML),
    ...[...document.querySelectorAll('[id]')].map(({ id }) => id).filter((id, index, all) => all.indexOf(id) !== index).map((id) => 'twice: ' + id),
    ...[...document.querySelectorAll('[aria-describedby], [aria-labelledby]')].flatMap((one) => ((one.getAttribute('aria-describedby') ?? '') + ' ' + (one.getAttribute('aria-labelledby') ?? '')).split(' ')).filter((id) => id !== '' && document.getElementById(id) === null).map((id) => 'nothing has the id ' + id),
    ...(document.querySelectorAll('h1, main').length === 2 ? [] : ['not one h1 and one main']),
    ...(document.documentElement.scrollWidth <= window.innerWidth ? [] : ['wider than the screen']),
  ]`);
  assert.deepEqual(faults, [], page.url());
}
