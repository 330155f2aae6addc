import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { afterEach, test } from 'node:test';
import sql from 'sql-template-tag';
import { goTo } from '../../test/console/go_to.ts';
import { openConsole } from '../../test/console/open_console.ts';
import { checkEverywhere, untilInPage } from '../../test/console/visitor.ts';
import type { Visitor } from '../../test/console/visitor.ts';
import { erasing } from '../../test/factories/events/erasures.ts';
import type { TestOrganization } from '../../test/harness.ts';

let home: TestOrganization;
let visitor: Visitor;
const world = openConsole({
  clickhouse: true,
  opened: async (harness) => {
    home = await harness.newOrganization({ name: 'Home' });
    if (world.skip === false) visitor = await world.visit(home.user);
  },
  closing: async () => visitor?.close(),
});
const { skip } = world;
const { ask, send, work } = erasing(() => world);
afterEach(() => assert.deepEqual(visitor?.complaints.splice(0) ?? [], []));

test('a person is erased once that was typed, and the page shows the proof', { skip }, async () => {
  const { page } = visitor;
  await send(home, [
    { event: 'paid', distinct_id: 'ada@x.org', $set: { name: 'Ada' } },
    { event: 'paid', distinct_id: 'bob@x.org' },
  ]);
  await goTo(page, `/projects/${home.project.id}/erasures`);
  await page.getByText('No erasures yet').waitFor();
  await page.getByText('Erase persons').click();
  await page.getByRole('button', { name: 'Erase these persons' }).click();
  await page.locator('[name=distinct_ids][aria-invalid=true]').waitFor();
  await page.getByLabel('Distinct ids').fill('ada@x.org\n\n');
  await page.getByRole('button', { name: 'Erase these persons' }).click();
  const asked = page.getByRole('dialog', { name: 'Erase the persons of 1 distinct id?' });
  await asked.getByText('It concerns 1 distinct id and 1 event.').waitFor();
  await checkEverywhere(page, 'erasure_asked', []);
  await asked.getByRole('button', { name: 'Erase them' }).click();
  await asked.getByText('exactly as it is written').waitFor();
  await asked.getByRole('textbox').fill('erase');
  await asked.getByRole('button', { name: 'Erase them' }).click();
  await page.waitForURL(/\/erasures\/[0-9a-f-]{36}$/);
  await page.getByText('Finding the distinct ids.').waitFor();
  await page.getByText('1 distinct id, asked for').waitFor();
  // Before its rows are found nothing is known of copies, and none is not said.
  await page.getByText('Sluice is looking for them.').waitFor();

  const id = page.url().split('/').at(-1)!;
  const done = await work(home, id);
  // A delivery that cannot be rewritten from here.
  await world.harness.deps.db.run(sql`
    INSERT INTO erasure_copies (erasure_id, delivery_id, batch_export_id, name, destination_type,
      place, data_interval_start, data_interval_end, run_id, records, state, detail)
    VALUES (${id}, ${randomUUID()}, ${randomUUID()}, '<b>Hooks</b>', 'HTTP', 'hooks.example.com',
      '2026-01-01Z', '2026-01-02Z', ${randomUUID()}, 1, 'yours', 'It keeps what it got.')`);
  await page.reload();
  await page.getByText(/^Certified /).waitFor();
  await page.getByText(done.certificate).waitFor();
  await page.getByText('Not removed by the erasure: It keeps what it got.').waitFor();
  assert.equal(await page.getByText('ada@x.org').count(), 0);
  await checkEverywhere(page, 'erasure_done');

  await page
    .getByRole('navigation', { name: 'Project' })
    .getByRole('link', { name: 'Erasures' })
    .click();
  await page.getByText('0 of 1 rewritten, 1 yours').waitFor();
});

test(
  'events are erased by names, days and properties, but never without a condition',
  { skip },
  async () => {
    const { page } = visitor;
    // The test before ended on the page, and `goTo` waits for another one.
    await goTo(page, '/account');

    await goTo(page, `/projects/${home.project.id}/erasures`);
    await page.getByText('Erase events').click();
    const button = page.getByRole('button', { name: 'Erase these events' });
    await button.click();
    await page.getByText('Send at least one condition.').waitFor();
    await page.getByLabel('Names').fill('paid');
    // Half a day is none for the browser: sent so, it would erase the events of all days.
    const from = page.getByLabel('From this day on (UTC)');
    await from.pressSequentially('02');
    await button.click();
    await untilInPage(page, "document.activeElement.name === 'filter__after'");
    assert.equal(await page.getByRole('dialog').count(), 0);
    await from.fill('2026-01-02');
    await page.getByLabel('Before this day (UTC)').fill('2026-01-01');
    const asked = page.getByRole('dialog', { name: 'Erase events of 1 name?' });
    const answer = async () => {
      await button.click();
      await asked.getByRole('textbox').fill('erase');
      await asked.getByRole('button', { name: 'Erase them' }).click();
    };
    await button.click();
    // A form that is refused asks nothing.
    await page.locator('[name=filter__before][aria-invalid=true]').waitFor();
    await page.getByText('The end must be after the start.').waitFor();
    assert.equal(await page.getByRole('dialog').count(), 0);
    await page.getByLabel('Before this day (UTC)').fill('2026-01-03');
    await page.getByLabel('Properties').fill('plan');
    await button.click();
    await page.locator('[name=filter__properties][aria-invalid=true]').waitFor();
    await page.getByLabel('Properties').fill('plan = trial\nseats = 5');
    await button.click();
    await asked.getByText('from 2026-01-02 on and before 2026-01-03 (UTC) whose plan is').waitFor();
    await asked.getByText('It concerns 0 events.').waitFor();
    await checkEverywhere(page, 'erasure_of_events_asked', []);
    await page.keyboard.press('Escape');
    await answer();
    await page.waitForURL(/\/erasures\/[0-9a-f-]{36}$/);
    await page.getByText('Events that fit a filter, asked for').waitFor();
    const { body } = await ask(home, 'GET', `erasures/${page.url().split('/').at(-1)!}/`);
    assert.deepEqual(body.asked, { events: 1, instants: 2, properties: 2 });
  },
);
