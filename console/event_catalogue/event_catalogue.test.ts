import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countEvents } from '../../server/engine/ingest/catalogue/count_events.ts';
import { goTo } from '../../test/console/go_to.ts';
import { pressByKey } from '../../test/console/keyboard.ts';
import { openConsole } from '../../test/console/open_console.ts';
import { checkEverywhere } from '../../test/console/visitor.ts';
import type { TestOrganization } from '../../test/harness.ts';

const world = openConsole({ clickhouse: true });
const { skip } = world;
const hostile = '<img src=x onerror="document.title=1">';

/** Sends events that happened in the last days, and counts them. */
async function sendEvents({ project, ask }: TestOrganization) {
  const events = Array.from({ length: 60 }, (_, index) => ({
    event: index % 4 === 0 ? hostile : 'bought',
    distinct_id: `d${index}`,
    timestamp: new Date(world.clock.now() - (index % 25) * 24 * 3_600_000).toISOString(),
    properties: {
      total: index === 9 ? 'free' : index + 0.5,
      at: '2026-11-29T20:00:00Z',
      [hostile]: index % 2 === 0 ? true : null,
      userId: `u${index}`,
      user_id: `u${index}`,
    },
  }));
  await ask('POST', `/api/projects/${project.id}/events/`, { events });
  await countEvents(world.harness.deps, new AbortController().signal, 60_000);
}

test('events are listed with their properties, and types are frozen', { skip }, async () => {
  const home = await world.harness.newOrganization();
  const visitor = await world.visit(home.user);
  const { page } = visitor;
  const base = `/projects/${home.project.id}/event_catalogue`;
  await goTo(page, base);
  await page.getByText('No events yet').waitFor();
  await page.getByRole('region', { name: 'One event with curl' }).waitFor();
  await checkEverywhere(page, 'event_catalogue_empty');

  await sendEvents(home);
  await page.reload();
  await page.getByText('5 properties proposed').waitFor();
  const row = page.getByRole('row').filter({ hasText: 'bought' });
  await row.getByRole('img', { name: /^The last 30 days: at most \d events a day/ }).waitFor();
  assert.match((await row.textContent())!, /bought45455/);
  await checkEverywhere(page, 'event_catalogue');
  await page.getByLabel('Search by name').fill('IMG');
  await row.waitFor({ state: 'detached' });
  await page.getByLabel('Search by name').fill('nothing');
  await page.getByText('No events match').waitFor();

  // One event, by the keyboard.
  await goTo(page, base);
  await pressByKey(page, 'bought');
  await page.getByRole('heading', { name: 'bought' }).waitFor();
  const total = page.getByRole('row').filter({ hasText: 'total' });
  assert.match((await total.textContent())!, /decimal 98 %text 2 %45100 %/);
  await page.getByRole('row').filter({ hasText: hostile }).waitFor();
  await checkEverywhere(page, 'event_catalogue_event');
  await goTo(page, `${base}/event?event=gone`);
  await page.getByText('No event with this name').waitFor();
  await goTo(page, `${base}/properties`);
  await page.getByRole('row').filter({ hasText: 'userId' }).waitFor();
  await checkEverywhere(page, 'event_catalogue_properties');

  await goTo(page, `${base}/schema`);
  const proposed = page.getByRole('region', { name: 'Proposed' });
  const columns = page.getByRole('region', { name: 'Columns' });
  await columns.getByText('No columns yet').waitFor();
  await proposed.getByText('Not the same as userId').waitFor();
  await proposed.getByText('1 of 60 values does not fit').waitFor();
  await checkEverywhere(page, 'event_catalogue_proposals');
  await page.getByLabel('Type of at').selectOption('timestamp');
  await pressByKey(page, 'Freeze at');
  await proposed.getByText('1 column frozen.').waitFor();
  await proposed.getByText('4 properties proposed').waitFor();
  await columns.getByRole('row').filter({ hasText: 'timestamp' }).getByText('Frozen').waitFor();
  await pressByKey(page, 'Freeze all');
  await proposed.getByText('Nothing is proposed').waitFor();
  await proposed.getByText('4 columns frozen.').waitFor();
  const frozen = columns.getByRole('row').filter({ hasText: 'p_total' });
  await checkEverywhere(page, 'event_catalogue_schema');

  await frozen.getByRole('button', { name: 'Remove total' }).click();
  await page.getByRole('button', { name: 'Remove the column' }).click();
  await columns.getByText('p_total is removed from the schema.').waitFor();
  await frozen.getByText('Removed').waitFor();
  await frozen.getByRole('button', { name: 'Freeze again total' }).click();
  await frozen.getByText('Frozen').waitFor();
  await visitor.leave();
});

test('properties of groups are named with the types of their groups', { skip }, async () => {
  const home = await world.harness.newOrganization();
  const events = Array.from({ length: 24 }, (_, index) => ({
    event: '$groupidentify',
    distinct_id: 'd',
    properties: {
      $group_type: index % 2 === 0 ? 'company' : hostile,
      $group_key: 'k',
      $group_set: { $group_key: 'same name', seats: index },
    },
  }));
  await home.ask('POST', `/api/projects/${home.project.id}/events/`, { events });
  await countEvents(world.harness.deps, new AbortController().signal, 60_000);
  const visitor = await world.visit(home.user);
  const { page } = visitor;
  await goTo(page, `/projects/${home.project.id}/event_catalogue/schema`);
  const proposed = page.getByRole('region', { name: 'Proposed' });
  const seats = proposed.getByRole('row').filter({ hasText: 'p_seats' });
  assert.match((await seats.textContent())!, /^seats of groups: .*company/);
  await checkEverywhere(page, 'schema_of_groups');
  await pressByKey(page, 'Freeze $group_key of groups');
  await proposed.getByText('1 column frozen.').waitFor();
  const columns = page.getByRole('region', { name: 'Columns' });
  const frozen = columns.getByRole('row').filter({ hasText: 'p_group_key' });
  await frozen.getByText('Frozen').waitFor();
  await checkEverywhere(page, 'columns_of_groups');
  await proposed.getByRole('row').filter({ hasText: '$group_key' }).waitFor();

  // Properties of persons are not counted, so somebody names them.
  await columns.getByText('Add a column that is not proposed').click();
  await page.getByLabel('Properties of').selectOption('person');
  await page.getByLabel('Property', { exact: true }).fill('age');
  await page.getByLabel('Type', { exact: true }).selectOption('integer');
  await pressByKey(page, 'Add the column');
  const added = columns.getByRole('row').filter({ hasText: 'p_age' });
  await added.getByText(' of persons', { exact: true }).waitFor();
  await checkEverywhere(page, 'column_added');
  await visitor.leave();
});
