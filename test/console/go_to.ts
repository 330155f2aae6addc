import type { Page, Request } from 'playwright-core';
import { eventually } from '../eventually.ts';

/** The unanswered requests of a page, from the first `goTo` on. */
const open_requests = new WeakMap<Page, Set<Request>>();

/** The time without requests after which a page counts as complete. */
const quiet_ms = 200;

/**
 * Opens the page at the path of the console. Only the first call loads it. Later ones stay within
 * the document, as "back" does, so that console and axe-core are not loaded again for each page.
 * The earlier page is gone afterwards.
 */
export async function goTo(page: Page, path: string): Promise<void> {
  if (!open_requests.has(page)) followRequests(page);
  if (page.url() === 'about:blank') {
    await page.goto(path);
    return;
  }
  // Compared in the page, because its text is long and is read often.
  const shown = "document.querySelector('main')?.innerHTML ?? ''";
  await page.evaluate(`window.shown_before = ${shown};
    history.pushState(null, '', ${JSON.stringify(path)});
    dispatchEvent(new PopStateEvent('popstate'))`);
  await eventually(`The page goes on to show what it did: ${path}`, () =>
    page.evaluate<boolean>(`(${shown}) !== window.shown_before`),
  );
}

function followRequests(page: Page): void {
  const asked = new Set<Request>();
  page.on('request', (request) => asked.add(request));
  page.on('requestfinished', (request) => asked.delete(request));
  page.on('requestfailed', (request) => asked.delete(request));
  open_requests.set(page, asked);
}

/** Called before the next visitor gets the page: it stops counting the requests. */
export function forgetRequests(page: Page): void {
  open_requests.delete(page);
}

/** Waits until the page, which `goTo` opened, has its answers and sends no more requests. */
export async function untilAnswered(page: Page): Promise<void> {
  let asked_at = performance.now();
  await eventually('The page does not stop asking.', () => {
    if (open_requests.get(page)!.size > 0) asked_at = performance.now();
    return performance.now() - asked_at > quiet_ms;
  });
}
