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
  'from nothing to a message in the format of Slack, seen before it is sent',
  { skip },
  async () => {
    const home = await world.harness.newOrganization();
    const visitor = await world.visit(home.user);
    const { page } = visitor;
    const send = (event: string) =>
      home.ask('POST', `/api/projects/${home.project.id}/events/`, {
        events: [{ event, distinct_id: 'ada', properties: { plan: 'pro' } }],
      });
    await send('Signed up');

    await goTo(page, `/projects/${home.project.id}/plugins`);
    await page.getByRole('button', { name: 'Install HTTP request', exact: true }).click();
    await page.getByRole('heading', { name: 'HTTP request', level: 1 }).waitFor();

    const here = page.getByRole('region', { name: 'In this project' });
    await here.getByRole('button', { name: 'Remove this mapping' }).click();
    await here
      .getByLabel('Add a mapping')
      .selectOption({ label: 'Message for Slack, Mattermost or Google Chat' });
    await here.getByText('Cannot be sent').waitFor();
    await here.getByLabel('Address (required)').fill(`${target.url}/services/T/B/X`);
    await here.getByText('Would be sent').waitFor();
    await here.getByText('"text": "Signed up: ada"').waitFor();
    const hosts = here.getByLabel('Hosts that it may reach');
    assert.equal(await hosts.inputValue(), '127.0.0.1');
    await hosts.fill('acme.com');
    await here.getByText('Would wait for an allowed host').waitFor();
    await here.getByText(/The plugin may not reach 127\.0\.0\.1:\d+: add it/).waitFor();
    await hosts.fill('127.0.0.1');
    await here.getByText('Would be sent').waitFor();
    await checkEverywhere(page, 'http_request_form');

    // A refusal in a closed part of the form opens that part.
    const address = here.getByLabel('Address (required)');
    await address.fill('no address');
    await here.getByLabel('Switched on').check();
    await here.getByRole('button', { name: 'Save the settings' }).click();
    await here.getByText('Mapping 1, Address (url): The URL cannot be read.').waitFor();
    await address.fill(`${target.url}/services/T/B/X`);
    await here.getByText('Would be sent').waitFor();

    await here.getByRole('button', { name: 'Add a condition' }).click();
    const condition = here.getByRole('group', { name: 'Condition 2' });
    await condition.getByLabel('Value').fill('Order completed');
    await here.getByText('event is "Signed up", and it wants = "Order completed"').waitFor();
    await checkEverywhere(page, 'http_request_filtered');
    await here.getByRole('button', { name: 'Edit the filter as text' }).click();
    const text = here.getByLabel('Events', { exact: true }).last();
    assert.equal(await text.inputValue(), 'type = "track" and event = "Order completed"');
    await text.fill('type = "page" and event = "x"');
    await here.getByText('events of the type page have no event').first().waitFor();
    await text.fill('type = "track" and event = "Order completed"');
    await here.getByText('event is "Signed up"').waitFor();
    await here.getByRole('button', { name: 'Edit the filter as a form' }).click();
    await condition.waitFor();

    await here.getByLabel('Switched on').check();
    await here.getByRole('button', { name: 'Save the settings' }).click();
    await page.getByText('The settings were saved.').waitFor();
    const arrived = new Promise((resolve) => {
      target.answer = (body) => {
        resolve(body);
        return undefined;
      };
    });
    runner = runPlugins(world.harness.deps, { retry_seconds: 0.05, idle_seconds: 1 });
    await send('Left');
    await send('Order completed');
    await page
      .getByRole('region', { name: 'Delivery' })
      .getByText('Delivered all events')
      .waitFor();
    // One that the filter keeps out was stored before.
    assert.deepEqual(await arrived, { text: 'Order completed: ada' });
    await visitor.leave();
  },
);
