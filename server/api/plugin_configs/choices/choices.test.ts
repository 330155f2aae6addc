import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import sql from 'sql-template-tag';
import { Response } from 'undici';
import { openSandbox } from '../../../engine/plugins/sandbox/sandbox.ts';
import { systemClock } from '../../../platform/clock.ts';
import { silentLog } from '../../../platform/log.ts';
import { openOutbound } from '../../../platform/outbound/outbound.ts';
import type { Outbound } from '../../../platform/outbound/outbound.ts';
import { openHarness } from '../../../../test/harness.ts';
import type { Harness, TestOrganization } from '../../../../test/harness.ts';
import { attrsOf } from '../../../../test/factories/batch_exports/batch_exports.ts';
import { connectHubspot } from '../../../../test/factories/plugins/connected_hubspot.ts';
import { setPluginsLevel } from '../../../../test/factories/plugins/plugins.ts';
import { openVendorReceiver } from '../../../../test/vendors/receiver.ts';
import type { VendorReceiver } from '../../../../test/vendors/receiver.ts';
import { readVendors } from '../../../../test/vendors/vendors.ts';

const vendors = readVendors().filter(({ name }) => ['Klaviyo', 'HubSpot'].includes(name));
const [hubspot_vendor, klaviyo_vendor] = vendors;
let harness: Harness;
let receiver: VendorReceiver;
let home: TestOrganization;
let klaviyo: number;
/** The answers of HubSpot's token address. */
let refreshes = 0;

before(async () => {
  receiver = await openVendorReceiver(vendors);
  const guard = openOutbound({ allow: [] });
  const outbound: Outbound = {
    ...guard,
    fetch: async (url, init) => {
      if (!String(url).endsWith('/oauth/v1/token')) return receiver.fetch(url, init);
      refreshes += 1;
      return Response.json({ access_token: 'right', refresh_token: 'next', expires_in: 1_800 });
    },
  };
  const sandbox = await openSandbox({
    outbound,
    log: silentLog(),
    clock: systemClock,
    public_url: 'http://127.0.0.1',
  });
  harness = await openHarness({ clickhouse: false, deps: { outbound, sandbox } });
  home = await harness.newOrganization();
  klaviyo = await install('Klaviyo');
});
after(async () => {
  await harness.close();
  await receiver.close();
});

async function install(name: string): Promise<number> {
  const path = `/api/organizations/${home.organization.id}/pipeline_destinations/`;
  const { status, body, text } = await home.ask('POST', path, { plugin_type: 'repository', name });
  assert.equal(status, 201, text);
  return body.id;
}

const configs = () => `/api/projects/${home.project.id}/plugin_configs/`;
const lists = { action: 'subscribeProfile', field: 'list_id' };
const allowed_hosts = ['a.klaviyo.com'];
const ask = (body: object, more = '', own = home) =>
  own.ask('POST', `/api/projects/${own.project.id}/plugin_configs/choices/${more}`, {
    plugin: klaviyo,
    ...lists,
    ...body,
  });
const typed = { config: { api_key: 'right' }, allowed_hosts };

test('Typed settings are asked with, and nothing is stored', async () => {
  const { status, body, text } = await ask(typed);
  assert.equal(status, 200, text);
  assert.deepEqual(body, {
    choices: [
      { value: 'Y6nRLr', label: 'Newsletter', description: null },
      { value: 'X1abcd', label: 'Early <b>birds</b>', description: null },
    ],
    next_page: null,
    omitted: 0,
    error: null,
  });
  assert.equal((await home.ask('GET', configs())).body.count, 0);
  const missing = await ask({ allowed_hosts });
  assert.equal(missing.body.error.code, 'setting_missing');
  assert.match(missing.body.error.detail, /needs its settings first\. API Key is required/);
  const wrong = await ask({ ...typed, config: { api_key: 'wrong-key-of-ada' } });
  assert.equal(wrong.body.error.code, 'denied');
  assert.doesNotMatch(wrong.text, /wrong-key/);
  const host = await ask({ config: typed.config });
  assert.deepEqual(host.body.error.hosts, ['a.klaviyo.com']);
});

test('Stored secrets are used where they were given for, and nowhere else', async () => {
  const created = await home.ask('POST', configs(), { plugin: klaviyo, ...typed });
  assert.equal(created.status, 201, created.text);
  const { id } = created.body;
  const stored = await ask({ plugin_config: id });
  assert.equal(stored.body.choices.length, 2, stored.text);
  const asked = receiver.asked(klaviyo_vendor!).length;
  const elsewhere = await ask({
    plugin_config: id,
    allowed_hosts: ['a.klaviyo.com', 'b.acme.com'],
  });
  assert.deepEqual([elsewhere.status, attrsOf(elsewhere)], [400, ['config__api_key required']]);
  const checked = await ask({ plugin_config: id }, '?validate_only=true');
  assert.deepEqual([checked.status, checked.body.choices], [200, []]);
  assert.equal(receiver.asked(klaviyo_vendor!).length, asked, 'nobody was asked');
  const other = await harness.newOrganization();
  const path = `/api/projects/${other.project.id}/plugin_configs/choices/`;
  const stolen = await other.ask('POST', path, { plugin: klaviyo, plugin_config: id, ...lists });
  assert.deepEqual(attrsOf(stolen), ['plugin invalid_input']);
  const own = await ask({ plugin_config: 2_000_000_000, ...typed });
  assert.deepEqual(attrsOf(own), ['plugin_config invalid_input']);
});

test('A connection gives its token, which is replaced if the tool refuses it', async () => {
  const plugin = await install('HubSpot');
  const question = { plugin, action: 'upsertObject', field: 'object_details.object_type' };
  const hosts = hubspot_vendor!.hosts;
  const unsaved = await ask({ ...question, allowed_hosts: hosts });
  assert.equal(unsaved.body.error.code, 'not_ready');
  const { body: config } = await home.ask('POST', configs(), { plugin, allowed_hosts: hosts });
  const named = { ...question, plugin_config: config.id };
  assert.match((await ask(named)).body.error.detail, /no OAuth application/);
  await connectHubspot(harness, home, config.id, 'stale-token');
  const { body, text } = await ask(named);
  assert.equal(body.error, null, text);
  assert.deepEqual([body.choices[0].value, refreshes], ['p12345_cars', 1]);
  const moved = await ask({ ...named, allowed_hosts: [...hosts, 'b.acme.com'] });
  assert.equal(moved.body.error.code, 'not_ready');
  const row = await harness.deps.db.row(sql`SELECT generation FROM plugin_oauth_connections
    WHERE plugin_config_id = ${config.id} AND refused_reason IS NULL`);
  assert.deepEqual(row, { generation: 2 });
});

test('Only fields with choices are asked for, by those who may change mappings', async () => {
  for (const [more, attr] of [
    [{ action: 'gone' }, 'action invalid_choice'],
    [{ action: '__proto__' }, 'action invalid_choice'],
    [{ field: 'email' }, 'field invalid_choice'],
    [{ field: 'list_id.__proto__' }, 'field invalid_choice'],
    [{ field: 'constructor' }, 'field invalid_choice'],
    [{ config: { nothing: 'x' } }, 'config__nothing unknown_field'],
    [{ plugin: 2_000_000_000 }, 'plugin invalid_input'],
  ] as const) {
    const answer = await ask({ ...typed, ...more });
    assert.deepEqual([answer.status, attrsOf(answer)], [400, [attr]], JSON.stringify(more));
  }
  const strange = await ask({ ...typed, field: 'a.b.c.d' });
  assert.deepEqual([strange.status, strange.body.attr], [400, 'field']);
  const deep = JSON.parse(`${'{"a":'.repeat(70)}1${'}'.repeat(70)}`) as object;
  assert.equal((await ask({ ...typed, mapping: deep })).status, 400);
  const asked = receiver.asked(klaviyo_vendor!).length;
  const as = (key: string) =>
    harness.request('POST', `${configs()}choices/`, {
      key,
      body: { plugin: klaviyo, ...lists, ...typed },
    });
  const member = await harness.newMember(home.organization.id, 1);
  assert.equal((await as(member.key)).status, 403);
  const reader = await harness.newKey(home.user, { scopes: ['plugin:read'] });
  assert.equal((await as(reader)).status, 403);
  await setPluginsLevel(harness, home, 0);
  assert.equal((await ask(typed)).status, 403);
  await setPluginsLevel(harness, home, 9);
  assert.equal(receiver.asked(klaviyo_vendor!).length, asked, 'nobody was asked');
});

test('An agent asks no tool where agents may change nothing', async () => {
  await harness.deps.db.run(sql`UPDATE organizations SET forbids_agent_writes = true
    WHERE id = ${home.organization.id}::uuid`);
  const { status } = await home.ask(
    'POST',
    `${configs()}choices/`,
    { plugin: klaviyo, ...lists, ...typed },
    { 'sluice-agent': 'yes' },
  );
  assert.equal(status, 403);
});
