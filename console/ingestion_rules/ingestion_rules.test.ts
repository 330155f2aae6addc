import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sharedRuleCounts } from '../../server/engine/ingest/rules/rule_counts.ts';
import { openConsole } from '../../test/console/open_console.ts';
import { checkEverywhere } from '../../test/console/visitor.ts';

const world = openConsole({ clickhouse: true });
const { skip } = world;
const hostile = `<img src=x onerror="document.title='taken'">`;

test('a rule is created, tried, counted, moved and deleted', { skip }, async () => {
  const home = await world.harness.newOrganization();
  const project = `/api/projects/${home.project.id}/`;
  const { page, leave } = await world.visit(home.user);
  await page.goto(`/projects/${home.project.id}/ingestion_rules`);
  await page.getByText('No ingestion rules yet').waitFor();
  const create = page.locator('form', { has: page.getByRole('button', { name: 'Create rule' }) });
  await create.getByLabel('Name').fill(hostile);
  await create.getByLabel('Action').selectOption({ label: 'Hash property' });
  await create.getByRole('button', { name: 'Create rule' }).click();
  await page.locator('[name=property][aria-invalid=true]').waitFor();
  await create.getByLabel('Property', { exact: true }).fill('email');
  await create.getByRole('button', { name: 'Create rule' }).click();
  await page.getByRole('link', { name: hostile }).waitFor();
  await create.getByLabel('Name').fill('Drop debug events');
  await create.getByLabel('Action').selectOption({ label: 'Drop event' });
  await create.getByLabel('Events').fill('debug*');
  await create.getByRole('button', { name: 'Create rule' }).click();
  await page.getByRole('link', { name: 'Drop debug events' }).waitFor();
  await home.ask('POST', `${project}events/`, {
    events: [{ event: 'debug 1', distinct_id: 'd' }],
  });
  await sharedRuleCounts(world.harness.deps).store();
  await page.getByRole('button', { name: 'Try rules' }).click();
  await page.getByText('Sluice would store this event.').waitFor();
  await page.getByRole('button', { name: 'Move up Drop debug events' }).click();
  await page.getByText('The order was saved.').waitFor();
  await page.reload();
  await page.getByText('1 event dropped').waitFor();
  const { body } = await home.ask('GET', `${project}ingestion_rules/`);
  assert.deepEqual(
    body.results.map(({ name, events }: any) => [name, events]),
    [
      ['Drop debug events', ['debug*']],
      [hostile, []],
    ],
  );
  await page.getByRole('button', { name: 'Try rules' }).click();
  await page.getByText('Sluice would store this event.').waitFor();
  await checkEverywhere(page, 'ingestion rules');
  await page.getByRole('link', { name: 'Drop debug events' }).click();
  await page.getByRole('button', { name: 'Delete rule' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('textbox').fill('Drop debug events');
  await dialog.getByRole('button', { name: 'Delete rule' }).click();
  await page.getByRole('heading', { name: 'Ingestion rules' }).waitFor();
  assert.equal((await home.ask('GET', `${project}ingestion_rules/`)).body.count, 1);

  await page.goto(`/projects/${home.project.id}/tracking_plan`);
  await page.getByText('No planned events yet').waitFor();
  await page.getByLabel('Event', { exact: true }).fill('order paid');
  await page.getByLabel('Properties', { exact: true }).fill('total number required\ncoupon text');
  await page.getByLabel('If an event differs').selectOption({ label: 'Refuse it' });
  await page.getByRole('button', { name: 'Add event' }).click();
  await page.getByRole('link', { name: 'order paid' }).waitFor();
  await page.getByText('2 properties, 1 required').waitFor();
  const planned = await home.ask('GET', `${project}planned_events/`);
  assert.deepEqual(planned.body.results[0].properties, [
    { name: 'total', type: 'number', required: true },
    { name: 'coupon', type: 'text', required: false },
  ]);
  const file = [{ title: 'trial ended', properties: { plan: { type: 'string', pattern: '^a' } } }];
  await page.getByLabel('Plan as JSON').fill(JSON.stringify(file));
  await page.getByRole('button', { name: 'Import plan' }).click();
  await page.getByText('1 event added, 0 changed, 0 unchanged.').waitFor();
  await page.getByText('trial ended, plan pattern is not compared.').waitFor();
  await page.getByRole('link', { name: 'trial ended' }).waitFor();
  await checkEverywhere(page, 'tracking plan');
  await leave();
});
