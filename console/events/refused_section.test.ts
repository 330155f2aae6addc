import assert from 'node:assert/strict';
import { test } from 'node:test';
import { storedEvents } from '../../test/factories/events/stored_events.ts';
import { goTo } from '../../test/console/go_to.ts';
import { openConsole } from '../../test/console/open_console.ts';
import { checkEverywhere } from '../../test/console/visitor.ts';
import { sharedRefusedEvents } from '../../server/engine/ingest/warnings/refused_events.ts';

const world = openConsole({ clickhouse: true });
const { skip } = world;
const hostile = '<img src=x onerror="document.title=1">';

test('a refused event is shown, corrected and sent again', { skip }, async () => {
  const { harness } = world;
  const home = await harness.newOrganization();
  const headers = { 'x-write-key': home.project.api_token };
  const batch = [
    { event: 'stored', distinct_id: 'ada' },
    { event: hostile },
    { event: '', distinct_id: 'ada' },
  ];
  await harness.request('POST', '/batch/', { headers, body: { batch } });
  await sharedRefusedEvents(harness.deps).store();
  const visitor = await world.visit(home.user);
  const { page } = visitor;
  await goTo(page, `/projects/${home.project.id}/events`);
  const section = page.getByRole('region', { name: 'Refused events' });
  await section.getByRole('rowheader', { name: 'No name' }).waitFor();
  const row = section.getByRole('row').filter({ hasText: hostile });
  await row.getByText('Show and correct').click();
  const field = row.getByLabel('Content');
  const content = JSON.parse(await field.inputValue());
  await checkEverywhere(page, 'refused_events');
  await row.getByRole('button', { name: /^Send again/ }).click();
  await section.getByText('Refused again: The event has no person').waitFor();
  content.batch[0].distinct_id = 'ada';
  await field.fill(JSON.stringify(content));
  await row.getByRole('button', { name: /^Send again/ }).click();
  await section.getByText('The event is stored.').waitFor();
  await row.waitFor({ state: 'detached' });
  await section.getByRole('button', { name: 'Send all again' }).click();
  await section.getByText('Stored: 0. Refused again: 1.').waitFor();
  const stored = await storedEvents(harness.deps, home.project.id);
  assert.deepEqual(stored.map(({ event }) => event).sort(), [hostile, 'stored'].sort());
  await visitor.leave();
});
