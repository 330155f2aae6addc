import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { openPageServer } from '../../test/console/page_server.ts';
import type { PageServer } from '../../test/console/page_server.ts';
import { checkEverywhere, openSignedIn } from '../../test/console/visitor.ts';
import { newExport } from '../../test/factories/batch_exports.ts';
import { openTestClock } from '../../test/factories/people.ts';
import { startChromium } from '../../test/processes/chromium.ts';

const started = await startChromium();
const skip = typeof started === 'string' ? started : false;
const browser = started as Browser;
const hostile = `<img src=x onerror="document.title='taken'">`;

let server: PageServer;
before(async () => {
  server = await openPageServer(openTestClock());
});
after(async () => {
  if (skip === false) await browser.close();
  await server.close();
});

test('a target is made, tried out, changed and deleted', { skip }, async () => {
  const { harness } = server;
  const home = await harness.newOrganization();
  await newExport(harness, home, { name: hostile });
  const { page, leave } = await openSignedIn(browser, server, home.user);
  await page.goto(`/projects/${home.project.id}/notices`);
  await page.getByText('Tell a program by webhook').click();
  const webhook = page.locator('form', { hasText: 'Send webhooks' });
  await webhook.getByLabel('Address').fill('http://127.0.0.1:9/hook');
  await webhook.getByLabel('Secret').fill('short');
  await webhook.getByRole('button').click();
  await page.getByText('Must be whsec_').waitFor();
  assert.equal(await webhook.getByLabel('Address').inputValue(), 'http://127.0.0.1:9/hook');
  await webhook.getByLabel('Secret').fill('');
  await webhook.getByLabel('Something due is late').uncheck();
  await webhook.getByRole('button').click();
  await page.getByRole('heading', { name: 'The secret of the webhook' }).waitFor();
  assert.match((await page.locator('.command code').textContent())!, /^whsec_/);
  await checkEverywhere(page, 'notices');

  await page.getByRole('row').getByRole('link').click();
  await page.getByRole('button', { name: 'Send a test notice' }).click();
  await page.getByText('It was not taken.').waitFor();
  assert.equal(await page.getByLabel('Something due is late').isChecked(), false);
  await page.getByLabel(hostile).check();
  await page.getByRole('button', { name: 'Save the target' }).click();
  await page.getByText('The target was saved.').waitFor();
  await checkEverywhere(page, 'notice_target');
  const { body } = await harness.request(
    'GET',
    `/api/projects/${home.project.id}/notice_targets/`,
    { key: home.key },
  );
  const [target] = body.results as { batch_export_ids: string[]; events: string[]; url: string }[];
  assert.equal(target!.batch_export_ids.length, 1);
  assert.equal(target!.events.includes('late'), false);

  await page.getByText('Delete the target').first().click();
  await page.getByRole('textbox', { name: 'Name' }).fill(target!.url);
  await page.getByRole('button', { name: 'Delete the target' }).click();
  await page.getByText('Nobody is told').waitFor();
  await leave();
});
