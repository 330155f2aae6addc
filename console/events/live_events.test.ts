import assert from 'node:assert/strict';
import { test } from 'node:test';
import { goTo } from '../../test/console/go_to.ts';
import { openConsole } from '../../test/console/open_console.ts';
import { checkEverywhere } from '../../test/console/visitor.ts';

const world = openConsole({ clickhouse: true });
const { skip } = world;
const hostile = '<img src=x onerror="document.title=1">';

test('events appear as they come, by a filter, until they are paused', { skip }, async () => {
  const home = await world.harness.newOrganization();
  const send = (event: string, distinct_id: string, properties: object = {}) =>
    home.ask('POST', `/api/projects/${home.project.id}/events/`, {
      events: [{ event, distinct_id, properties }],
    });
  await send(hostile, hostile);
  await send('paid', 'ada', { plan: 'pro' });
  const visitor = await world.visit(home.user);
  const { page } = visitor;
  await goTo(page, `/projects/${home.project.id}/events`);
  const section = page.getByRole('region', { name: 'Live events' });
  const row = (text: string) => section.getByRole('row').filter({ hasText: text });
  await row('paid').waitFor();
  await send('came later', 'bob');
  await row('came later').waitFor();
  await checkEverywhere(page, 'live_events');
  await section.getByLabel('Property', { exact: true }).fill('plan');
  await row('came later').waitFor({ state: 'detached' });
  await section.getByLabel('Value', { exact: true }).fill('free');
  await section.getByText('No recent event matches.').waitFor();
  assert.match(page.url(), /property=plan&value=free$/);
  await send('paid', 'bob', { plan: 'free' });
  await row('bob').waitFor();
  await section.getByRole('button', { name: 'Pause' }).click();
  await section.getByText('Paused: new events do not appear.').waitFor();
  await send('paid', 'zoe', { plan: 'free' });
  // Longer than it takes to read again.
  await page.waitForTimeout(3_000);
  assert.equal(await row('zoe').count(), 0);
  await section.getByRole('button', { name: 'Continue' }).click();
  await row('zoe').waitFor();
  await visitor.leave();
});
