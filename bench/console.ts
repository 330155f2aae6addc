// The console over 10,000 exports and 1,000,000 runs, in Chromium: from the navigation to the first
// painted list and to the painted map of 200,000 slots, and how long interactions take until the
// next picture. Run: npm run bench console [-- --rounds 5]
import type { Browser, CDPSession, Page } from 'playwright-core';
import { newExport } from '../test/factories/batch_exports/batch_exports.ts';
import { openTestClock } from '../test/factories/people/people.ts';
import { openPageServer } from '../test/console/page_server.ts';
import { openSignedIn } from '../test/console/visitor.ts';
import type { Visitor } from '../test/console/visitor.ts';
import { startChromium } from '../test/processes/chromium.ts';
import { readBenchOptions, tell } from './measure/figures.ts';
import { history_start, plantExports, plantHistory } from './plant/runs.ts';

const exports = 10_000;
const slots = 200_000;
const runs_each = 80;
const rounds = Number(readBenchOptions({ rounds: '5' }).rounds);

/** The selector of the first element on the screen. */
const first_row = '.export_row a';
const map = 'canvas.slot_map';

/**
 * Runs in the page: returns the time from the navigation until the selector's element was painted.
 */
const painted = `(selector) => new Promise((done) => {
  const look = () => document.querySelector(selector) === null
    ? requestAnimationFrame(look)
    : requestAnimationFrame(() => setTimeout(() => done(performance.now())));
  look();
})`;
/**
 * Runs in the page: records the time from each interaction to the next frame, if it is 16 ms or
 * more.
 */
const watch = `globalThis.interactions = new Map();
  new PerformanceObserver((list) => {
    for (const { interactionId: id, duration } of list.getEntries())
      if (id) interactions.set(id, Math.max(duration, interactions.get(id) ?? 0));
  }).observe({ type: 'event', durationThreshold: 16, buffered: true });`;
const nextPicture = `() => new Promise((done) => {
  requestAnimationFrame(() => setTimeout(done));
})`;
/** Runs in the page: returns the total time of the API's answers. */
const answers = `() => performance.getEntriesByType('resource')
  .filter(({ name }) => name.includes('/api/')).reduce((sum, { duration }) => sum + duration, 0)`;

type Measured = { painted: number; answers: number; processor: number };

async function open(page: Page, path: string, selector: string): Promise<Measured> {
  const before = process.cpuUsage();
  await page.goto(path, { waitUntil: 'commit' });
  const at = await page.evaluate<number>(`(${painted})(${JSON.stringify(selector)})`);
  const { user, system } = process.cpuUsage(before);
  return {
    painted: at,
    answers: await page.evaluate<number>(`(${answers})()`),
    processor: (user + system) / 1000,
  };
}

/** Runs each round in a browser without a cache (cold), and then again in the same one (warm). */
async function navigations(
  newVisitor: () => Promise<Visitor>,
  name: string,
  path: string,
  selector: string,
): Promise<void> {
  const cold: Measured[] = [];
  const warm: Measured[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const { page, context } = await newVisitor();
    cold.push(await open(page, path, selector));
    warm.push(await open(page, path, selector));
    await context.close();
  }
  tellPainted(`${name}, cold`, cold);
  tellPainted(`${name}, warm`, warm);
}

function tellPainted(name: string, measured: Measured[]): void {
  const told = (what: string, key: keyof Measured) =>
    tell({ what, unit: 'ms', better: 'less', ours: measured.map((one) => one[key]) });
  told(`Console, ${name}: painted after`, 'painted');
  told(`Console, ${name}: of these the answers of the API`, 'answers');
  told(`Console, ${name}: processor time of the server`, 'processor');
}

/** Plays a person's actions one by one, and waits for a frame after each. */
async function interact(
  { page, context }: Visitor,
  name: string,
  [path, selector]: [string, string],
  actions: ((page: Page) => Promise<unknown>)[],
): Promise<void> {
  await page.addInitScript(watch);
  await open(page, path, selector);
  const threads = await context.newCDPSession(page);
  await threads.send('Performance.enable', { timeDomain: 'threadTicks' });
  const before = await busy(threads);
  let count = 0;
  for (let round = 0; round < rounds; round += 1)
    for (const act of actions) {
      await act(page);
      await page.evaluate(`(${nextPicture})()`);
      count += 1;
    }
  const processor = ((await busy(threads)) - before) / count;
  const long = await page.evaluate<number[]>(`[...interactions.values()]`);
  await context.close();
  // The browser does not report interactions that took less than 16 ms.
  const all = [...long, ...Array.from({ length: Math.max(0, count - long.length) }, () => 8)];
  const sorted = all.toSorted((one, other) => one - other);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, (sorted.length * share) | 0)]!;
  tell({
    what: `Console, ${name}: interactions until the next picture (median, 95 %, most)`,
    unit: 'ms',
    better: 'less',
    ours: [at(0.5), at(0.95), sorted.at(-1)!],
  });
  tell({
    what: `Console, ${name}: processor time of the page for an interaction`,
    unit: 'ms',
    better: 'less',
    ours: [processor],
  });
}

/** Processor time of the page's main thread, in ms. */
async function busy(threads: CDPSession): Promise<number> {
  const { metrics } = await threads.send('Performance.getMetrics');
  return metrics.find(({ name }) => name === 'TaskDuration')!.value * 1000;
}

const key = (name: string) => (page: Page) => page.keyboard.press(name);
const click = (x: number) => (page: Page) => page.locator(map).click({ position: { x, y: 40 } });
const press = (name: string) => (page: Page) =>
  page.getByRole('button', { name, exact: true }).click();

async function main(browser: Browser): Promise<void> {
  const server = await openPageServer(openTestClock());
  const { harness } = server;
  try {
    const home = await harness.newOrganization();
    const { id } = await newExport(home, {
      name: 'Long history',
      interval: 'every 5 minutes',
    });
    await plantHistory(harness, id, { slots, backfill_runs: 0 });
    await plantExports(harness, id, { exports: exports - 1, runs_each });
    await harness.deps.db.text('VACUUM ANALYZE');
    const newVisitor = () => openSignedIn(browser, server, home.user);
    const list = `${server.address}/projects/${home.project.id}/exports`;
    const end = new Date(Date.parse(history_start) + slots * 300_000).toISOString();
    const whole = `${list}/${id}?from=${history_start}&to=${end}`;
    await navigations(newVisitor, 'list', list, first_row);
    await navigations(newVisitor, 'list, worst first', `${list}?ordering=health`, first_row);
    await navigations(newVisitor, `map of ${slots} slots`, whole, map);
    await interact(
      await newVisitor(),
      'list',
      [list, first_row],
      [
        (page) => page.getByLabel('Search by name').focus(),
        key('7'),
        key('9'),
        key('Backspace'),
        key('Backspace'),
        (page) => page.getByRole('checkbox').nth(1).click(),
        (page) => page.getByRole('checkbox').nth(1).click(),
      ],
    );
    const on_map = ['ArrowRight', 'Shift+ArrowRight', 'Escape', '+', '+', '-', '-', 'PageUp'];
    await interact(
      await newVisitor(),
      'map',
      [whole, map],
      [click(300), ...on_map.map(key), press('Later'), click(500)],
    );
  } finally {
    await server.close();
  }
}

const browser = await startChromium();
await main(browser).finally(() => browser.close());
