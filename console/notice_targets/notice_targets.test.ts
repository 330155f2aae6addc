import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkEverywhere } from '../../test/console/visitor.ts';
import { is_deep } from '../../test/depth.ts';
import { endedRun, failed } from '../../test/factories/batch_exports/ended_runs.ts';
import { newExport } from '../../test/factories/batch_exports/batch_exports.ts';
import { sendDueNotices } from '../../server/engine/notices/send.ts';
import { openConsole } from '../../test/console/open_console.ts';

const world = openConsole();
const { skip } = world;
const hostile = `<img src=x onerror="document.title='taken'">`;

test('a target is created, tried out, changed and deleted', { skip }, async () => {
  const home = await world.harness.newOrganization();
  await newExport(home, { name: hostile });
  const { page, leave } = await world.visit(home.user);
  await page.goto(`/projects/${home.project.id}/notices`);
  await page.getByText('mails notices to the administrators').waitFor();
  await page.getByRole('button', { name: 'Webhook', exact: true }).click();
  await page.getByText('This is the first target').filter({ visible: true }).waitFor();
  if (is_deep) await checkEverywhere(page, 'notices_none');
  const webhook = page.locator('form', { hasText: 'Create target' });
  await webhook.getByLabel('Address').fill('http://127.0.0.1:2/hook');
  await webhook.getByLabel('Secret').fill('short');
  await webhook.getByRole('button', { name: 'Create target' }).click();
  await page.getByText('Must be whsec_').waitFor();
  assert.equal(await webhook.getByLabel('Address').inputValue(), 'http://127.0.0.1:2/hook');
  await webhook.getByLabel('Secret').fill('');
  await webhook.getByLabel('An export is late').uncheck();
  await webhook.getByRole('button', { name: 'Create target' }).click();
  await page.getByRole('heading', { name: 'The secret of the webhook' }).waitFor();
  assert.match((await page.locator('.command code').textContent())!, /^whsec_/);
  assert.equal(await page.getByText('This is the first target').count(), 0);
  await checkEverywhere(page, 'notices');

  await page.getByRole('row').getByRole('link').click();
  await page.getByRole('button', { name: 'Send test notice' }).click();
  await page.getByText('The target did not accept the test.').waitFor();
  await page.reload();
  await page.getByText('The target did not accept the test.').waitFor();
  await page.getByText('No notice in the last 30 days').waitFor();
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
  await page.getByRole('heading', { name: 'No targets yet' }).waitFor();
  await leave();
});

test('a Slack target has its name, and lists what it was sent', { skip }, async () => {
  const home = await world.harness.newOrganization();
  const exported = await newExport(home, { name: 'Lake' });
  const { page, leave } = await world.visit(home.user);
  await page.goto(`/projects/${home.project.id}/notices`);
  await page
    .getByLabel('Webhook URL')
    .fill('http://127.0.0.1:2/services/T0/B0/secret-of-slack-1234');
  await page.getByLabel('Name (optional)').fill('#alerts');
  await page.getByRole('button', { name: 'Create target' }).click();
  await page.getByText('#alerts now gets notices.').waitFor();
  await endedRun(world.harness, exported.id, failed);
  await sendDueNotices({ ...world.harness.deps, public_url: 'http://127.0.0.1:8000' });
  await page.getByRole('link', { name: '#alerts' }).click();
  await page.getByText('http://127.0.0.1:2/********1234').waitFor();
  await page
    .getByRole('row', { name: /Failing/ })
    .getByText('The receiver could not be')
    .waitFor();
  await checkEverywhere(page, 'notice_deliveries');
  await page.getByRole('button', { name: 'Send again' }).click();
  await page.getByText('Sluice sends the notice again.').waitFor();
  await leave();
});
