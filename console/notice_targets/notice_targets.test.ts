import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkEverywhere } from '../../test/console/visitor.ts';
import { is_deep } from '../../test/depth.ts';
import { newExport } from '../../test/factories/batch_exports/batch_exports.ts';
import { openConsole } from '../../test/console/open_console.ts';

const world = openConsole();
const { skip } = world;
const hostile = `<img src=x onerror="document.title='taken'">`;

test('a target is created, tried out, changed and deleted', { skip }, async () => {
  const home = await world.harness.newOrganization();
  await newExport(home, { name: hostile });
  const { page, leave } = await world.visit(home.user);
  await page.goto(`/projects/${home.project.id}/notices`);
  await page.getByText('Notify a program by webhook').click();
  await page.getByText('mails notices to the administrators').waitFor();
  await page.getByText('This is the first target').filter({ visible: true }).waitFor();
  if (is_deep) await checkEverywhere(page, 'notices_none');
  const webhook = page.locator('form', { hasText: 'Send webhooks' });
  await webhook.getByLabel('Address').fill('http://127.0.0.1:9/hook');
  await webhook.getByLabel('Secret').fill('short');
  await webhook.getByRole('button', { name: 'Send webhooks' }).click();
  await page.getByText('Must be whsec_').waitFor();
  assert.equal(await webhook.getByLabel('Address').inputValue(), 'http://127.0.0.1:9/hook');
  await webhook.getByLabel('Secret').fill('');
  await webhook.getByLabel('An export is late').uncheck();
  await webhook.getByRole('button', { name: 'Send webhooks' }).click();
  await page.getByRole('heading', { name: 'The secret of the webhook' }).waitFor();
  assert.match((await page.locator('.command code').textContent())!, /^whsec_/);
  assert.equal(await page.getByText('This is the first target').count(), 0);
  await checkEverywhere(page, 'notices');

  await page.getByRole('row').getByRole('link').click();
  await page.getByRole('button', { name: 'Send a test notice' }).click();
  await page.getByText('The target did not accept it.').waitFor();
  assert.equal(await page.getByLabel('An export is late').isChecked(), false);
  await page.getByLabel(hostile).check();
  await page.getByRole('button', { name: 'Save the target' }).click();
  await page.getByText('The target was saved.').waitFor();
  await checkEverywhere(page, 'notice_target');
  const { body } = await world.harness.request(
    'GET',
    `/api/projects/${home.project.id}/notice_targets/`,
    { key: home.key },
  );
  const [target] = body.results as { batch_export_ids: string[]; events: string[]; url: string }[];
  assert.equal(target!.batch_export_ids.length, 1);
  assert.equal(target!.events.includes('late'), false);

  await page.getByRole('button', { name: 'Delete the target' }).click();
  const dialog = page.getByRole('dialog', { name: 'Delete the target?' });
  await dialog.getByRole('textbox').fill(target!.url);
  await dialog.getByRole('button', { name: 'Delete the target' }).click();
  await page.getByText('mails notices to the administrators').waitFor();
  await leave();
});
