import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import type { Page } from 'playwright-core';
import { eventually } from '../eventually.ts';
import { newExport } from '../factories/batch_exports/batch_exports.ts';
import type { TestOrganization } from '../harness.ts';
import { openOneBrowser } from './open_console.ts';
import { checkEverywhere, giveSession } from './visitor.ts';
import type { Visitor } from './visitor.ts';

let visitor: Visitor | undefined;
const world = openOneBrowser((opened) => (visitor = opened));
const { skip } = world;
afterEach(() => visitor?.page.unrouteAll());

const title = 'This page could not be loaded';
/** Complaints of the browser, and of axe-core about our styles, about files that did not load. */
const failed = /^(?:Failed to load resource|Couldn't load preload assets)/;

/** Opens the settings of a project, with something typed that was not saved. */
async function typeSomewhere(): Promise<{ page: Page; home: TestOrganization }> {
  const home = await world.harness.newOrganization({ name: 'Home' });
  await giveSession(visitor!, world.server, home.user);
  const { page } = visitor!;
  await page.goto(`/projects/${home.project.id}/settings`);
  await page.getByRole('textbox', { name: 'Name' }).fill('Typed before');
  return { page, home };
}

/** Counts the documents that the page asks for from now on. */
function countDocuments(page: Page): () => number {
  let documents = 0;
  page.on('request', (request) => {
    if (request.isNavigationRequest()) documents += 1;
  });
  return () => documents;
}

/** Takes out what the browser says of requests that this test had fail. */
const forgetFailures = ({ complaints }: Visitor) =>
  complaints.splice(0, Infinity, ...complaints.filter((text) => !failed.test(text)));

test(
  'without a server a page says that it could not be loaded, and tries again',
  { skip },
  async () => {
    const { page } = await typeSomewhere();
    const countAsked = countDocuments(page);
    // The frame says and offers the same above it, once it has asked for something in vain.
    const told = page.getByText('The server cannot be reached').last();
    const again = page.getByRole('button', { name: 'Try again' }).last();
    await page.route('**/*', (route) => route.abort('connectionrefused'));
    await page.getByRole('link', { name: 'Find a record' }).click();
    await page.getByRole('heading', { name: title }).waitFor();
    await told.waitFor();
    await again.click();
    await told.waitFor();
    await checkEverywhere(page, 'not_loaded');
    assert.equal(countAsked(), 0, 'the document is never left for an error page of the browser');
    // The way back is open, to what was typed.
    await page.goBack();
    const name = page.getByRole('textbox', { name: 'Name' });
    assert.equal(await name.inputValue(), 'Typed before');
    await page.goForward();
    await page.getByRole('heading', { name: title }).waitFor();
    await page.unroute('**/*');
    await again.click();
    await page.getByRole('heading', { name: 'Find a record' }).waitFor();
    await page.goBack();
    assert.equal(await name.inputValue(), 'Typed before');
    // It comes by itself too, once there is a network again.
    await page.route('**/*', (route) => route.abort('connectionrefused'));
    await page.getByRole('link', { name: 'Erasures' }).click();
    await told.waitFor();
    await page.unroute('**/*');
    await page.evaluate("dispatchEvent(new Event('online'))");
    await page.getByRole('heading', { name: 'Erasures', level: 1 }).waitFor();
    forgetFailures(visitor!);
  },
);

test('after an upgrade the new console loads itself, and never in a loop', { skip }, async () => {
  const { page } = await typeSomewhere();
  const countAsked = countDocuments(page);
  const script = '**/assets/members_page-*.js';
  // It is gone until the new document was asked for.
  await page.route(script, (route) =>
    countAsked() === 0 ? route.fulfill({ status: 404 }) : route.continue(),
  );
  await page.getByRole('link', { name: 'Members' }).click();
  await page.getByRole('heading', { name: 'Members', exact: true }).waitFor();
  assert.equal(countAsked(), 1);
  await page.goBack();
  const name = page.getByRole('textbox', { name: 'Name' });
  assert.equal(await name.inputValue(), 'Typed before');
  // Another file that stays away: this console was left once already.
  await page.route('**/assets/domains_page-*.js', (route) => route.fulfill({ status: 404 }));
  await page.getByRole('link', { name: 'Domains' }).click();
  await page.getByText('The server did not send the code of this page').waitFor();
  assert.equal(countAsked(), 1);
  forgetFailures(visitor!);
});

test('a query editor or palette that does not load leaves the page usable', { skip }, async () => {
  const { page, home } = await typeSomewhere();
  await page.route('**/assets/palette-*', (route) => route.abort('connectionrefused'));
  await page.route('**/assets/editor-*', (route) => route.abort('connectionrefused'));
  // Pressed again where the page has not heard it, which happened once in many runs.
  const dialog = page.getByRole('dialog');
  await eventually('Nothing opens.', async () => {
    await page.keyboard.press('Control+k');
    return dialog.waitFor({ timeout: 5_000 }).then(
      () => true,
      () => false,
    );
  });
  assert.match(await dialog.innerText(), /This could not be loaded/);
  await checkEverywhere(page, 'palette_not_loaded');
  await page.getByRole('button', { name: 'Close', exact: true }).click();
  assert.equal(await page.getByRole('textbox', { name: 'Name' }).inputValue(), 'Typed before');
  await page.goto(`/projects/${home.project.id}/exports/new`);
  const { complaints } = visitor!;
  const before = complaints.length;
  await page.getByLabel('Columns').selectOption('Columns of a query');
  await page.getByRole('textbox', { name: 'Query' }).fill('SELECT 1');
  // The field is there before the browser has said that the editor is not.
  await eventually('The editor is not asked for.', () => complaints.length > before);
  forgetFailures(visitor!);
});

test('a server that goes away is told of within 3 s, and its return heals', { skip }, async () => {
  const { page } = await typeSomewhere();
  const name = page.getByRole('textbox', { name: 'Name' });
  // The browser wants reduced motion, so nothing moves while an answer is awaited.
  const answered = Promise.withResolvers<void>();
  await page.route('**/api/**/erasures/**', (route) =>
    answered.promise.then(() => route.continue()),
  );
  await page.getByRole('link', { name: 'Erasures' }).click();
  await page.getByRole('status', { name: 'Loading' }).waitFor();
  assert.equal(await page.evaluate('document.getAnimations().length'), 0);
  answered.resolve();
  await page.getByText('No erasures yet').waitFor();
  await page.goBack();
  const told = page.getByText('These values may be old');
  await page.route('**/*', (route) => route.abort('connectionrefused'));
  const gone_at = performance.now();
  await told.waitFor();
  const told_after_ms = performance.now() - gone_at;
  assert.ok(told_after_ms < 4_000, `told after ${told_after_ms} ms`);
  await page.unroute('**/*');
  await told.waitFor({ state: 'detached' });
  assert.equal(await name.inputValue(), 'Typed before');
  forgetFailures(visitor!);
});

test('an outage is shown once, and ends when the server answers', { skip }, async () => {
  const home = await world.harness.newOrganization({ name: 'Home' });
  const { id } = await newExport(home);
  await giveSession(visitor!, world.server, home.user);
  const { page } = visitor!;
  await page.clock.install();
  await page.goto(`/projects/${home.project.id}/exports/${id}`);
  await page
    .getByRole('heading', { name: 'Backfill' })
    .or(page.locator('.legend'))
    .first()
    .waitFor();
  const tried = new Map<string, number>();
  page.on('requestfailed', (request) => {
    const { pathname } = new URL(request.url());
    tried.set(pathname, (tried.get(pathname) ?? 0) + 1);
  });
  await page.route('**/api/**', (route) => route.abort('connectionrefused'));
  // Each is tried four times: the project, the export, its slots and how it stands.
  await eventually('Nothing is given up.', async () => {
    await page.clock.runFor(5_000);
    return [...tried.values()].filter((times) => times >= 4).length >= 4;
  });
  const told = page.getByText('These values may be old');
  await told.first().waitFor();
  assert.equal(await told.count(), 1);
  await page.unroute('**/api/**');
  await page.getByRole('button', { name: 'Try again' }).click();
  await told.waitFor({ state: 'detached' });
  forgetFailures(visitor!);
});
