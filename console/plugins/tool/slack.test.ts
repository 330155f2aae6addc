import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { runPlugins } from '../../../server/cli/run_plugins.ts';
import { openSandbox } from '../../../server/engine/plugins/sandbox/sandbox.ts';
import type { Sandbox } from '../../../server/engine/plugins/sandbox/sandbox.ts';
import { systemClock } from '../../../server/platform/clock.ts';
import { silentLog } from '../../../server/platform/log.ts';
import { goTo } from '../../../test/console/go_to.ts';
import { openConsole } from '../../../test/console/open_console.ts';
import { openVendorReceiver } from '../../../test/vendors/receiver.ts';
import type { VendorReceiver } from '../../../test/vendors/receiver.ts';
import { readVendors } from '../../../test/vendors/vendors.ts';

const slack = readVendors().find(({ name }) => name === 'Slack')!;
let receiver: VendorReceiver;
let sandbox: Sandbox;
let runner: { stop(): Promise<void> } | undefined;
const world = openConsole({
  clickhouse: true,
  opened: async () => {
    receiver = await openVendorReceiver([slack]);
    sandbox = await openSandbox({
      outbound: { fetch: receiver.fetch },
      log: silentLog(),
      clock: systemClock,
      public_url: 'http://127.0.0.1',
    });
  },
  closing: async () => {
    await runner?.stop();
    await sandbox.close();
    await receiver.close();
  },
});
const { skip } = world;
after(() => runner?.stop());

test('from an empty project to a message in the form of Slack', { skip }, async (t) => {
  const home = await world.harness.newOrganization();
  const visitor = await world.visit(home.user);
  const { page } = visitor;
  const began = performance.now();
  let [clicks, keys] = [0, 0];
  const press = async (name: string | RegExp) => {
    clicks += 1;
    await page.getByRole('button', { name }).click();
  };
  const type = async (label: string | RegExp, text: string) => {
    keys += 1;
    await page.getByLabel(label).fill(text);
  };
  const asked: string[] = [];
  page.on('request', (request) => asked.push(new URL(request.url()).pathname));
  await goTo(page, `/projects/${home.project.id}/plugins`);
  await press('Install Slack');
  await page.getByRole('heading', { name: 'Slack', level: 1 }).waitFor();
  await type('Webhook URL (required)', 'https://hooks.slack.com/services/T/B/right');
  await press('Save the settings');
  await page.getByText('The settings were saved.').waitFor();
  await page.getByText('● On', { exact: true }).waitFor();
  await home.ask('POST', `/api/projects/${home.project.id}/events/`, {
    events: [{ event: 'Order completed', distinct_id: 'ada', properties: { price: 19.5 } }],
  });
  runner = runPlugins({ ...world.harness.deps, sandbox }, { retry_seconds: 0.05, idle_seconds: 1 });
  await page.getByText('Delivered all events stored before').waitFor();
  for (const end = Date.now() + 60_000; receiver.taken(slack).length === 0 && Date.now() < end;)
    await new Promise((resolve) => setTimeout(resolve, 50));
  const seconds = (performance.now() - began) / 1_000;
  t.diagnostic(`${clicks} clicks, ${keys} groups of keys, ${seconds.toFixed(1)} s`);
  const [message, ...more] = receiver.taken(slack).map(({ event }) => event);
  await page.getByRole('link', { name: "Slack's formatting syntax." }).waitFor();
  assert.ok(asked.some((path) => path.endsWith('/plugin_configs/preview/')));
  assert.deepEqual(
    asked.filter((path) => path.endsWith('/oauth/')),
    [],
    'Slack has no OAuth here',
  );
  assert.deepEqual(more, []);
  assert.deepEqual(message, {
    text: 'Order completed: ada',
    username: 'Sluice',
  });
  await visitor.leave();
});
