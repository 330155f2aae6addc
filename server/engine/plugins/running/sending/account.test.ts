import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import {
  connectTool,
  oauthTool,
  registerApplication,
} from '../../../../../test/factories/plugins/oauth_tools.ts';
import { sendEvents } from '../../../../../test/factories/plugins/running_plugins.ts';
import { enabledWebhook } from '../../../../../test/factories/plugins/webhook_tool.ts';
import {
  harness,
  home,
  openAroundTests,
  run,
  soon,
  stopAll,
  target,
} from '../../../../../test/factories/plugins/plugin_runs.ts';
import { openOauthVendor } from '../../../../../test/servers/oauth_vendor.ts';
import { LeaseLostError, claimConfigs, releaseLease } from '../leases.ts';
import { accountOf, findAccount, leaveAccount, openPluginWorker, takeAccount } from './account.ts';
import type { PluginWorker } from './account.ts';

openAroundTests();

/** Makes so many configs of one tool. */
async function configsOf(count: number): Promise<number[]> {
  const url = await enabledWebhook(home, 'https://example.com/');
  const { id, plugin } = (await home.ask('GET', url)).body;
  const ids = [id];
  while (ids.length < count) {
    const mapping = { url: 'https://example.com/', method: 'POST', data: { '@path': '$.' } };
    const mappings = [
      { name: 'Send', partnerAction: 'send', subscribe: 'type = "track"', mapping },
    ];
    const config = { mappings: JSON.stringify(mappings) };
    const list = `/api/projects/${home.project.id}/plugin_configs/`;
    const created = await home.ask('POST', list, { plugin, enabled: true, config });
    assert.equal(created.status, 201, created.text);
    ids.push(created.body.id);
  }
  return ids;
}

const settings = {
  apiKey: { type: 'string', label: 'API key' },
  endpoint: { type: 'string', label: 'Endpoint' },
  quiet: { type: 'boolean', label: 'Quiet' },
};

test('An account is a tool, its secrets and its place, in one organization', () => {
  const { secrets } = harness.deps;
  const of = (config: object, directory = 'braze', organization = 'acme') =>
    accountOf(secrets, organization, { directory, settings }, { ...config })?.toString('hex');
  const config = { apiKey: 'key-1', endpoint: 'https://eu.example' };
  const account = of(config);
  assert.match(account!, /^[0-9a-f]{64}$/);
  assert.equal(of({ ...config, quiet: 'true', mappings: '[]' }), account);
  for (const other of [
    of({ ...config, apiKey: 'key-2' }),
    of({ ...config, endpoint: 'https://us.example' }),
    of({ apiKey: config.apiKey }),
    of(config, 'klaviyo'),
    of(config, 'braze', 'globex'),
  ])
    assert.notEqual(other, account);
  assert.equal(of({ endpoint: config.endpoint }), undefined);
  assert.equal(of({ ...config, apiKey: '' }), undefined);
  assert.equal(of(config, 'webhook'), undefined);
});

test('Configs that are connected by one OAuth application share the account', async (t) => {
  const vendor = await openOauthVendor();
  t.after(() => vendor.close());
  await registerApplication(home, vendor);
  const one = await oauthTool(harness, home, `${vendor.url}/in`);
  const tools = [one, await oauthTool(harness, home, `${vendor.url}/in`, one.plugin)];
  const of = (at: number, config: object = {}) =>
    findAccount(
      harness.deps,
      tools[at]!.id,
      home.organization.id,
      { directory: 'hubspot', settings },
      { ...config },
    );
  assert.equal(await of(0), undefined);
  await connectTool(harness, tools[0]!, vendor);
  await connectTool(harness, tools[1]!, vendor);
  const [first, second] = [await of(0), await of(1)];
  assert.ok(first);
  assert.deepEqual(first, second);
  assert.notDeepEqual(await of(1, { endpoint: 'https://eu.example' }), second);
  const { db } = harness.deps;
  await db.run(sql`UPDATE plugin_oauth_connections SET account = 'another'
    WHERE plugin_config_id = ${tools[1]!.id}`);
  assert.notDeepEqual(await of(1), second);
});

test('All configs of an account are in the hands of one worker, with one pace', async () => {
  const { db } = harness.deps;
  const ids = await configsOf(3);
  await sendEvents(home, 1);
  const [account, another] = ['one', 'other'].map((name) => harness.deps.secrets.hash(name));
  const [here, there] = [openPluginWorker(), openPluginWorker()];
  const claim = async ({ id }: PluginWorker, count: number) =>
    (await claimConfigs(db, count, id)).filter(({ config_id }) => ids.includes(config_id));
  const [first] = await claim(here, 1);
  const [second] = await claim(there, 1);
  const pace = await takeAccount(db, here, first!, account!);
  // Claimed before anybody knew whose account it is.
  await assert.rejects(takeAccount(db, there, second!, account!), LeaseLostError);
  const [third, ...none] = await claim(there, 9);
  assert.deepEqual([third!.config_id === second!.config_id, none], [false, []]);
  assert.notEqual(await takeAccount(db, there, third!, another!), pace);
  const [again] = await claim(here, 9);
  assert.equal(again!.config_id, second!.config_id);
  assert.equal(await takeAccount(db, here, again!, account!), pace);
  // Settings that lead to the account of another worker.
  await assert.rejects(takeAccount(db, there, third!, account!), LeaseLostError);
  const [moved] = await claim(here, 9);
  assert.equal(await takeAccount(db, here, moved!, account!), pace);
  await leaveAccount(db, moved!);
  await releaseLease(db, moved!);
  assert.equal((await claim(there, 9)).length, 1, 'it shares no account any more');
});

test('Another worker takes the account of one that died, with its learnt pace', async () => {
  const { db } = harness.deps;
  await configsOf(2);
  await sendEvents(home, 1);
  const account = harness.deps.secrets.hash('mortal');
  const [dead, next] = [openPluginWorker(), openPluginWorker()];
  const [first, second] = await claimConfigs(db, 2, dead.id);
  for (const lease of [first!, second!]) await takeAccount(db, dead, lease, account);
  await db.run(sql`UPDATE plugin_cursors SET pace = 2.5
    WHERE plugin_config_id = ${first!.config_id}`);
  assert.deepEqual(await claimConfigs(db, 9, next.id), []);
  await db.run(sql`UPDATE plugin_cursors SET leased_until = now() - interval '1 second'
    WHERE account = ${account}`);
  const taken = await claimConfigs(db, 9, next.id);
  assert.equal(taken.length, 2);
  const other = taken.find(({ config_id }) => config_id === second!.config_id)!;
  assert.equal((await takeAccount(db, next, other, account)).rate, 2.5);
});

test('Two workers deliver to one account through one of them, and lose no event', async () => {
  const { db } = harness.deps;
  const collection = `/api/organizations/${home.organization.id}/pipeline_destinations/`;
  const wanted = { plugin_type: 'repository', name: 'Ripe' };
  const installed = await home.ask('POST', collection, wanted);
  assert.equal(installed.status, 201, installed.text);
  const mapping = {
    event: { '@path': '$.event' },
    userId: { '@path': '$.userId' },
    messageId: { '@path': '$.messageId' },
  };
  for (const name of ['first', 'second']) {
    const mappings = [{ name, partnerAction: 'track', subscribe: 'type = "track"', mapping }];
    const created = await home.ask('POST', `/api/projects/${home.project.id}/plugin_configs/`, {
      plugin: installed.body.id,
      enabled: true,
      config: { apiKey: 'key-of-acme', endpoint: target.url, mappings: JSON.stringify(mappings) },
      allowed_hosts: ['127.0.0.1'],
    });
    assert.equal(created.status, 201, created.text);
  }
  await sendEvents(home, 60);
  run();
  run();
  const workers = new Set<string>();
  await soon('120 requests', async () => {
    const rows = await db.rows<{ worker: string }>(sql`SELECT DISTINCT account_worker AS worker
      FROM plugin_cursors k JOIN plugin_configs c ON c.id = k.plugin_config_id
      WHERE c.team_id = ${home.project.id} AND leased_until >= now()
        AND account_worker IS NOT NULL`);
    assert.ok(rows.length <= 1, 'one worker has the account');
    for (const { worker } of rows) workers.add(worker);
    return target.taken.length >= 120 ? true : undefined;
  });
  assert.ok(workers.size > 0);
  await stopAll();
  const counts = Object.values(Object.groupBy(target.taken, ({ messageId }) => messageId));
  assert.deepEqual([counts.length, counts.every((one) => one!.length === 2)], [60, true]);
});
