import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { openPluginTarget } from '../../../../test/factories/plugins/running_plugins.ts';
import type { PluginTarget } from '../../../../test/factories/plugins/running_plugins.ts';
import { writeToolPackage } from '../../../../test/factories/plugins/tool_package.ts';
import { openHarness } from '../../../../test/harness.ts';
import type { Harness } from '../../../../test/harness.ts';
import { until } from '../../../../test/processes/server_process.ts';
import { runPlugins } from '../../../cli/run_plugins.ts';
import { systemClock } from '../../../platform/clock.ts';
import { silentLog } from '../../../platform/log.ts';
import { openOutbound } from '../../../platform/outbound/outbound.ts';
import { openSandbox } from '../sandbox/sandbox.ts';

let harness: Harness;
let target: PluginTarget;
let tools_dir: string;
let outbound: ReturnType<typeof openOutbound>;

/** Puts a version of the package in the place of the one that is there, as npm would. */
function installLibrary(version: string, more = ''): void {
  const code = `
    const fields = { url: { type: 'string', required: true } };
    exports.default = {
      name: 'Small',
      authentication: { fields: { kept: { label: 'Kept', type: 'string' }, ${more} } },
      actions: { send: { title: 'Send', defaultSubscription: 'type = "track"', fields,
        perform: ({ messageId }) => fetch('${target.url}', {
          method: 'POST', body: JSON.stringify({ version: '${version}', messageId }) }) } },
    };`;
  rmSync(tools_dir, { recursive: true, force: true });
  writeToolPackage(tools_dir, { version, directories: ['webhook', 'slack'], code });
}

before(async () => {
  target = await openPluginTarget();
  tools_dir = join(mkdtempSync(join(tmpdir(), 'sluice-tools-')), 'tools');
  outbound = openOutbound({ allow: ['127.0.0.0/8'] });
  const public_url = 'http://127.0.0.1';
  const log = silentLog();
  const sandbox = await openSandbox({ outbound, log, clock: systemClock, public_url, tools_dir });
  harness = await openHarness({ deps: { sandbox } });
});
after(async () => {
  await harness.close();
  await outbound.close();
  await target.close();
  rmSync(join(tools_dir, '..'), { recursive: true });
});

test('Tools move to a new version of the package one by one, and lose no event', async () => {
  installLibrary('1.0.0');
  const home = await harness.newOrganization();
  const collection = `/api/organizations/${home.organization.id}/pipeline_destinations/`;
  const configs = `/api/projects/${home.project.id}/plugin_configs/`;
  const ask = async (method: 'GET' | 'POST', path: string, body?: object) => {
    const answer = await home.ask(method, path, body);
    assert.ok(answer.status < 300, `${path}: ${answer.text}`);
    return answer.body;
  };
  const mapping = { url: 'https://receiver.acme.com' };
  const mappings = [{ partnerAction: 'send', subscribe: 'type = "track"', mapping }];
  const install = async (name: string) => {
    const { id, tag } = await ask('POST', collection, { plugin_type: 'repository', name });
    assert.equal(tag, '1.0.0');
    const config = await ask('POST', configs, {
      plugin: id,
      enabled: true,
      config: { mappings: JSON.stringify(mappings) },
      allowed_hosts: ['127.0.0.1'],
    });
    return { plugin: `${collection}${id}/`, config: `${configs}${config.id}/` };
  };
  const [webhook, slack] = [await install('Webhook'), await install('Slack')];
  const send = (distinct_id: string) =>
    ask('POST', `/api/projects/${home.project.id}/events/`, {
      events: [{ event: 'sent', distinct_id }],
    });
  const versions = (count: number) =>
    until(`${count} requests`, 60_000, 20, async () =>
      target.taken.length >= count ? target.taken.map(({ version }) => version) : undefined,
    );
  const start = () => runPlugins(harness.deps, { retry_seconds: 0.05, idle_seconds: 60 });
  let runner = start();
  try {
    await send('ada');
    assert.deepEqual(await versions(2), ['1.0.0', '1.0.0']);

    installLibrary('2.0.0', "added: { label: 'Added', type: 'string' }");
    assert.equal((await ask('GET', `${webhook.plugin}check_for_updates/`)).latest_tag, '2.0.0');
    const { changes } = await ask('POST', `${webhook.plugin}upgrade/`);
    assert.deepEqual([changes.from_tag, changes.to_tag], ['1.0.0', '2.0.0']);
    assert.deepEqual(changes.config_fields, { added: ['added'], removed: [], changed: [] });
    await send('bea');
    // Slack is loaded still, in a process with the code of its version.
    assert.deepEqual((await versions(4)).toSorted().slice(2), ['1.0.0', '2.0.0']);

    await runner.stop();
    await send('cid');
    runner = start();
    const { error, enabled } = await until('the hold', 60_000, 20, async () => {
      const config = await ask('GET', slack.config);
      return config.error === null ? undefined : config;
    });
    assert.equal(enabled, true);
    assert.match(error.message, /^This server has version 2\.0\.0 .*, not 1\.0\.0\. Upgrade this/);
    assert.equal((await versions(5)).at(-1), '2.0.0');
    assert.equal(target.taken.length, 5);

    await ask('POST', `${slack.plugin}upgrade/`);
    assert.equal((await versions(6)).at(-1), '2.0.0');
    const events = Map.groupBy(target.taken, ({ messageId }) => messageId);
    assert.deepEqual(
      [...events.values()].map(({ length }) => length),
      [2, 2, 2],
    );
  } finally {
    await runner.stop();
  }
});
