import assert from 'node:assert/strict';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { is_deep, turnOf } from '../depth.ts';
import { eventually } from '../eventually.ts';
import { forgetRequests } from './go_to.ts';
import { loadAxe } from './load_axe.ts';
import type { PageServer } from './page_server.ts';

const wait_ms_max = 60_000;
/**
 * The themes, each with the narrowest supported window and a usual one. Each occurs once, then the
 * other pairs.
 */
const looks = [
  ['light', 320],
  ['dark', 1280],
  ['light', 1280],
  ['dark', 320],
] as const;

/** The window widths of `npm test`: the first two. */
type Look = 'narrow' | 'wide';

/**
 * The window of a visitor; `checkEverywhere` ends with it, so that the layout is not computed
 * again.
 */
const usual_window = { width: 1280, height: 800 };

/**
 * Device pixels for each CSS pixel if nobody looks at the picture. The layout is the same with few
 * of them, and drawing is a tenth of the cost of a page.
 */
const few_points = 0.25;

/** Each frame of an animation costs both cores; the journeys through the console show them. */
const resting = { reducedMotion: 'reduce' } as const;

/** A browser of one person. */
export type Visitor = {
  context: BrowserContext;
  page: Page;
  /**
   * The errors of its console: a page broke its own policy, a script failed, or a page sent a
   * request to another site.
   */
  complaints: string[];
  /** Forgets the sign-in and the stored state, for the next test of a file with one visitor. */
  forget(): Promise<void>;
  /** Returns the browser. */
  close(): Promise<void>;
  /** Returns the browser; fails if it logged errors. */
  leave(): Promise<void>;
};

/**
 * Returned browsers, cleared, each with an empty page. The next visitor needs no new process and
 * loads no script again.
 */
export type LeftBrowsers = BrowserContext[];

/**
 * Opens a browser without cookies at the server's address. It reuses a browser that was returned
 * there.
 */
export async function openVisitor(
  browser: Browser,
  address: string,
  left?: LeftBrowsers,
): Promise<Visitor> {
  // Benches, which return no browser, draw everything.
  const isSeen = left === undefined || process.env['SLUICE_SCREENSHOTS'] !== undefined;
  const deviceScaleFactor = isSeen ? 1 : few_points;
  const baseURL = new URL(address).origin;
  const options = { baseURL, viewport: usual_window, deviceScaleFactor, ...resting };
  const context = left?.pop() ?? (await browser.newContext(options));
  context.setDefaultTimeout(wait_ms_max);
  const page = context.pages()[0] ?? (await context.newPage());
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('console', (message) => {
    // A refusal of the API is no error of the page.
    const isRefusal = message
      .text()
      .startsWith('Failed to load resource: the server responded with a status of 4');
    if (!isRefusal && (message.type() === 'error' || message.type() === 'warning'))
      complaints.push(message.text());
  });
  page.on('request', (request) => {
    const url = request.url();
    if (url !== address && !url.startsWith(`${address}/`)) complaints.push(`asks for ${url}`);
  });
  const forget = async () => {
    await context.clearCookies();
    if (new URL(page.url()).origin === baseURL)
      await page.evaluate('localStorage.clear(); sessionStorage.clear()');
  };
  const close = async () => {
    await clearBrowser(context, address, await emptyPage(page, address));
    left?.push(context);
  };
  const leave = async () => {
    await close();
    assert.deepEqual(complaints, []);
  };
  return { context, page, complaints, forget, close, leave };
}

/**
 * Closes the pages of a browser and deletes their cookies, storage and permissions at the address.
 * It then has an empty page: the given one, or a new one.
 */
export async function clearBrowser(
  context: BrowserContext,
  address: string,
  emptied?: Page,
): Promise<void> {
  // Before the others are closed, because the process ends with its last page.
  const empty = emptied ?? (await context.newPage());
  const others = context.pages().filter((page) => page !== empty);
  await Promise.all(others.map((page) => page.close()));
  await context.unrouteAll();
  await context.setOffline(false);
  await context.clearPermissions();
  await context.clearCookies();
  const session = await context.newCDPSession(empty);
  const { origin } = new URL(address);
  await session.send('Storage.clearDataForOrigin', { origin, storageTypes: 'all' });
  await session.detach();
}

/** The events of a page that tests listen to; the listeners end before the next visitor. */
const heard = [
  ...(['console', 'dialog', 'download', 'pageerror', 'popup'] as const),
  ...(['request', 'requestfailed', 'requestfinished', 'response'] as const),
] as const;

/**
 * Empties a page that shows the address: the storage of its tab, its history, routes, listeners,
 * window and theme are like those of a new one. It still has the scripts of the console. A new page
 * would read each script from the browser's cache, decompress it and compile it: half of the cost
 * of a new page. Returns undefined for a page that shows another address, or is closed.
 */
async function emptyPage(page: Page, address: string): Promise<Page | undefined> {
  if (page.isClosed() || new URL(page.url()).origin !== new URL(address).origin) return undefined;
  for (const event of heard) page.removeAllListeners(event);
  forgetRequests(page);
  await page.unrouteAll();
  // If the page itself opens the empty document, the document has its origin and its storage. The
  // former content is then gone and cannot write the cleared values again.
  await page.evaluate("setTimeout(() => location.replace('about:blank'))");
  await page.waitForURL('about:blank');
  await page.evaluate("sessionStorage.clear(); window.name = ''");
  const session = await page.context().newCDPSession(page);
  await session.send('Page.resetNavigationHistory');
  await session.detach();
  await page.setViewportSize(usual_window);
  await page.emulateMedia({ colorScheme: 'light', ...resting });
  return page;
}

/** Opens a browser in which the person is signed in. */
export async function openSignedIn(
  browser: Browser,
  server: PageServer,
  user: { id: number },
  left?: LeftBrowsers,
): Promise<Visitor> {
  const visitor = await openVisitor(browser, server.address, left);
  await giveSession(visitor, server, user);
  return visitor;
}

/** Gives the visitor's browser a session of the person; an open page does not notice it yet. */
export async function giveSession(
  { context }: Visitor,
  { harness, address }: PageServer,
  user: { id: number },
): Promise<void> {
  const value = (await harness.newSession(user)).split('=')[1]!;
  const url = new URL(address).origin;
  await context.addCookies([{ name: 'sluice_session', value, url }]);
}

/**
 * Waits until the expression is true in the page. Playwright's own wait uses `eval`, which the
 * policy of our pages forbids.
 */
export async function untilInPage(page: Page, expression: string): Promise<void> {
  await eventually(`It does not come to be so: ${expression}`, () => page.evaluate(expression));
}

/** The rules of axe-core about colours. */
const rules_of_colours = ['color-contrast', 'link-in-text-block'];

/**
 * Waits for the page. Fails if it breaks a rule of axe-core, is wider than its window, or does not
 * have exactly one `h1` and one `main`. `rules`: the rules to check, by default all.
 */
export async function checkPage(page: Page, rules?: string[]): Promise<void> {
  await page.locator('h1').first().waitFor();
  if (rules?.length !== 0 && !(await page.evaluate<boolean>("'axe' in window")))
    await loadAxe(page);
  const options = { resultTypes: ['violations'], ...(rules && { runOnly: rules }) };
  const asked = rules?.length === 0 ? '{ violations: [] }' : `axe.run(${JSON.stringify(options)})`;
  // Texts, because the page does not know these names.
  const faults = await page.evaluate<string[]>(`Promise.resolve(${asked})
    .then(({ violations }) => [
      ...violations.flatMap(({ id, help, nodes }) =>
        nodes.map(({ html, any }) => [id, help, html, any[0]?.message].join(' | '))),
      ...(document.querySelectorAll('h1, main').length === 2 ? [] : ['not one h1 and one main']),
      ...(document.documentElement.scrollWidth <= window.innerWidth
        ? []
        : ['wider than the window', ...[...document.querySelectorAll('body *')]
            .filter((one) => one.getBoundingClientRect().right > window.innerWidth)
            .slice(0, 5).map((one) => one.outerHTML.slice(0, 200))]),
    ])`);
  assert.deepEqual(faults, [], `${page.url()} at ${page.viewportSize()?.width}`);
}

/** The rules are checked on a state of a page in one of this many runs. */
const state_turns = 3;

const numberOf = (name: string) => [...name].reduce((sum, letter) => sum + letter.charCodeAt(0), 0);

/** Returns which of the two widths the rules check under this name: each in every other run. */
export function lookOf(name: string): Look {
  return turnOf(numberOf(name), 2, 6) === 0 ? 'narrow' : 'wide';
}

/** Returns the width in which the rules check a state of a page; none in two of three runs. */
function looksInTurn(name: string): Look[] {
  return turnOf(numberOf(name), state_turns) === 0 ? [lookOf(name)] : [];
}

/**
 * Runs `checkPage` in both themes and in a narrow and a usual window, each once. It runs all pairs
 * of them if the tests go deep, or if SLUICE_SCREENSHOTS names a folder. The folder gets a
 * screenshot of each pair as `<name>_<theme>_<width>.png`. Otherwise axe-core only runs in the ones
 * of `asked`: one for a route's page (`routes.test.ts`), one in one of three runs for its states,
 * and none for a state that looks like another. In the second theme the same markup can only break
 * a rule of colours, and is asked no other.
 */
export async function checkEverywhere(
  page: Page,
  name: string,
  asked: Look[] = looksInTurn(name),
): Promise<void> {
  const folder = process.env['SLUICE_SCREENSHOTS'];
  if (folder !== undefined) await mkdir(folder, { recursive: true });
  const before = page.viewportSize();
  const checked = new Set<string>();
  const isWhole = is_deep || folder !== undefined;
  for (const [theme, width] of isWhole ? looks : looks.slice(0, 2)) {
    const isAsked = isWhole || asked.includes(width === 320 ? 'narrow' : 'wide');
    if (isAsked) await page.emulateMedia({ colorScheme: theme, ...resting });
    await page.setViewportSize({ width, height: 800 });
    await untilResized(page);
    let rules: string[] | undefined = isAsked ? undefined : [];
    if (isWhole) {
      const looked = `${width} ${await page.evaluate<string>('document.body.innerHTML')}`;
      if (checked.has(looked)) rules = rules_of_colours;
      checked.add(looked);
    }
    await checkPage(page, rules);
    if (folder === undefined) continue;
    const path = join(folder, `${name}_${theme}_${width}.png`);
    await page.screenshot({ path, fullPage: true });
  }
  await page.emulateMedia({ colorScheme: null });
  if (before !== null && before.width !== page.viewportSize()?.width)
    await page.setViewportSize(before);
  await untilResized(page);
}

/** Waits for charts, which take their new size one frame after the window. */
async function untilResized(page: Page): Promise<void> {
  await page.evaluate(`new Promise((done) =>
    requestAnimationFrame(() => requestAnimationFrame(() => done())))`);
}

/** Returns the name of the focused element and its description, as `label: description`. */
export function focused(page: Page): Promise<string> {
  return page.evaluate<string>(`(() => {
    const { activeElement: element } = document;
    const notes = (element.getAttribute('aria-describedby') ?? '')
      .split(' ')
      .map((id) => document.getElementById(id)?.textContent.trim() ?? '')
      .filter((note) => note !== '');
    return (element.labels?.[0] ?? element).textContent.trim() + ': ' + notes.join(' ');
  })()`);
}
