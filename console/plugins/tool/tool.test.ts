import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { runPlugins } from '../../../server/cli/run_plugins.ts';
import { goTo } from '../../../test/console/go_to.ts';
import { openConsole } from '../../../test/console/open_console.ts';
import { checkEverywhere } from '../../../test/console/visitor.ts';
import { openPluginTarget } from '../../../test/factories/plugins/running_plugins.ts';
import type { PluginTarget } from '../../../test/factories/plugins/running_plugins.ts';

let target: PluginTarget;
let runner: { stop(): Promise<void> } | undefined;
const world = openConsole({
  clickhouse: true,
  opened: async () => {
    target = await openPluginTarget();
  },
  closing: async () => {
    await runner?.stop();
    await target.close();
  },
});
const { skip } = world;
after(() => runner?.stop());

test(
  'from the catalogue of tools to events that arrive, and one that does not',
  { skip },
  async () => {
    const home = await world.harness.newOrganization();
    const visitor = await world.visit(home.user);
    const { page } = visitor;
    const uuid = crypto.randomUUID();
    const hostile = `<img src=x onerror="document.title='taken'">`;
    const send = (event: string, more: object = {}) =>
      home.ask('POST', `/api/projects/${home.project.id}/events/`, {
        events: [{ event, distinct_id: 'ada', ...more }],
      });
    await send('Order completed', { uuid, properties: { price: 19.5 } });

    await goTo(page, `/projects/${home.project.id}/plugins`);
    const search = page.getByLabel(/^Search \d+ entries$/);
    const install = (name: string) =>
      page.getByRole('button', { name: `Install ${name}`, exact: true });
    await page.getByLabel('Category').selectOption('messaging');
    await install('Slack').waitFor();
    await page.getByLabel('Category').selectOption('data');
    await install('AWS S3').waitFor();
    await search.fill('webhook');
    await install('AWS S3').waitFor({ state: 'detached' });
    await checkEverywhere(page, 'tool_catalogue');
    await install('Webhook').click();
    await page.getByRole('heading', { name: 'Webhook', level: 1 }).waitFor();

    const here = page.getByRole('region', { name: 'In this project' });
    await here.getByLabel('URL (required)').fill(target.url);
    await here.getByLabel('Name of the mapping').fill(hostile);
    await here.getByLabel('Shared Secret').fill('hidden-from-all');
    await here.getByLabel('Hosts that it may reach').fill('127.0.0.1');
    await here.getByLabel('Switched on').uncheck();
    await checkEverywhere(page, 'tool_settings');
    await here.getByRole('button', { name: 'Save the settings' }).click();
    await page.getByText('The settings were saved.').waitFor();

    await page.getByText('Send an event, or preview the request').click();
    const trial = page.getByRole('region', { name: 'Test' });
    await trial.getByLabel('Event', { exact: true }).selectOption(uuid);
    await trial.getByRole('button', { name: 'Run' }).click();
    await trial.getByText(`POST ${target.url}/: not sent`).waitFor();
    await checkEverywhere(page, 'tool_test');

    target.answer = ({ event }) => (event === 'Refused' ? 422 : undefined);
    await here.getByRole('button', { name: /^Switch on/ }).click();
    await here.getByText('● On', { exact: true }).waitFor();
    await send('Order completed');
    await send('Refused', { distinct_id: hostile });
    runner = runPlugins(world.harness.deps, { retry_seconds: 0.05, idle_seconds: 1 });
    const delivery = page.getByRole('region', { name: 'Delivery' });
    await delivery.getByText(`Refused of ${hostile}`).waitFor();
    await delivery.getByText('Partly delivered').waitFor();
    await delivery.getByText('Delivered or set aside all events stored before').waitFor();
    await delivery.getByText('Request and answer').click();
    await delivery.getByText('422').first().waitFor();
    await checkEverywhere(page, 'tool_delivery');
    target.answer = () => undefined;
    await delivery.getByRole('button', { name: 'Send 1 event again' }).click();
    await page
      .getByRole('heading', { name: 'Events that were set aside' })
      .waitFor({ state: 'detached' });
    assert.deepEqual(
      target.taken.map(({ event }) => event),
      ['Order completed', 'Refused'],
    );
    await delivery.getByText('1 of 1 event.').waitFor();
    await delivery.getByText('Send events of the past, from the beginning or from a time').click();
    await delivery.getByLabel(/^Names of events/).fill('Order completed');
    await delivery.getByRole('button', { name: 'Count the events' }).click();
    const start = delivery.getByRole('button', { name: 'Send 1 event' });
    await start.waitFor();
    // The number is that of another form.
    await delivery.getByLabel(/^Names of events/).fill('Order completed,');
    await start.waitFor({ state: 'detached' });
    await delivery.getByRole('button', { name: 'Count the events' }).click();
    await start.click();
    // The event that came live is not sent again.
    await delivery.getByText('1 of 1 event.').nth(1).waitFor();
    assert.equal(target.taken.length, 3);
    await checkEverywhere(page, 'tool_replays');
    await visitor.leave();
  },
);
