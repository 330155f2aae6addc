import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { runPlugins } from '../../../server/cli/run_plugins.ts';
import { goTo } from '../../../test/console/go_to.ts';
import { openConsole } from '../../../test/console/open_console.ts';
import { checkEverywhere } from '../../../test/console/visitor.ts';
import {
  enabledPlugin,
  openPluginTarget,
} from '../../../test/factories/plugins/running_plugins.ts';
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

const code = `export const onEvent = async ({ event }, { config }) => {
  const body = JSON.stringify({ event });
  const { status } = await fetch(config.address, { method: 'POST', body });
  if (status !== 200) throw new Error('answered ' + status);
};`;

test('a destination of code has the filter and the delivery of a tool', { skip }, async () => {
  const home = await world.harness.newOrganization();
  const visitor = await world.visit(home.user);
  const { page } = visitor;
  const send = (event: string) =>
    home.ask('POST', `/api/projects/${home.project.id}/events/`, {
      events: [{ event, distinct_id: 'ada' }],
    });
  const { plugin } = await enabledPlugin(world.harness, home, 'pipeline_destinations', code, {
    config: { address: target.url },
  });
  const plugin_id = plugin.split('/').at(-2)!;
  target.answer = ({ event }) => (event === 'Refused' ? 422 : undefined);
  await send('Refused');
  await goTo(page, `/projects/${home.project.id}/plugins/pipeline_destinations/${plugin_id}`);
  const here = page.getByRole('region', { name: 'In this project' });
  await here.getByText('Filter: which events it gets').click();
  await here.getByText('Would be sent').waitFor();
  await here.getByRole('button', { name: 'Add a condition' }).click();
  const condition = here.getByRole('group', { name: 'Condition 1' });
  await condition.getByLabel('Value').fill('Refused');
  await checkEverywhere(page, 'code_filter');
  await here.getByRole('button', { name: 'Save the settings' }).click();
  await page.getByText('The settings were saved.').waitFor();

  await send('Refused');
  await send('Left out');
  runner = runPlugins(world.harness.deps, { retry_seconds: 0.05, idle_seconds: 1 });
  const delivery = page.getByRole('region', { name: 'Delivery' });
  await delivery.getByText('Refused of ada').first().waitFor();
  await delivery.getByText('Request and answer').first().click();
  await delivery.getByText('422').first().waitFor();
  await page.getByText('Send an event, or preview the request').waitFor();
  await checkEverywhere(page, 'code_delivery');
  target.answer = () => undefined;
  await delivery.getByRole('button', { name: 'Send 2 events again' }).click();
  await page
    .getByRole('heading', { name: 'Events that were set aside' })
    .waitFor({ state: 'detached' });
  assert.deepEqual(
    target.taken.map(({ event }) => event),
    ['Refused', 'Refused'],
  );
  await visitor.leave();
});
