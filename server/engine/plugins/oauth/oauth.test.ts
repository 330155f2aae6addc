import assert from 'node:assert/strict';
import { afterEach, beforeEach, test } from 'node:test';
import sql from 'sql-template-tag';
import {
  connectTool,
  oauthTool,
  registerApplication,
} from '../../../../test/factories/plugins/oauth_tools.ts';
import type { OauthTool } from '../../../../test/factories/plugins/oauth_tools.ts';
import {
  assertTaken,
  logLines,
  sendEvents,
  storedEvents,
} from '../../../../test/factories/plugins/running_plugins.ts';
import {
  harness,
  home,
  openAroundTests,
  run,
  soon,
  stopAll,
} from '../../../../test/factories/plugins/plugin_runs.ts';
import { openOauthVendor } from '../../../../test/servers/oauth_vendor.ts';
import type { OauthVendorServer } from '../../../../test/servers/oauth_vendor.ts';
import { currentConnection } from './refresh.ts';
import { findVendor } from './vendors.ts';

openAroundTests();
let vendor: OauthVendorServer;
beforeEach(async () => {
  vendor = await openOauthVendor();
});
afterEach(async () => {
  await stopAll();
  await vendor.close();
});

const uuids = () => vendor.taken.map(({ body }) => body.messageId);
const stored = () => storedEvents(harness, home.project.id);
const taken = (count: number) =>
  soon(`${count} events`, async () => (vendor.taken.length >= count ? true : undefined));

async function connected(): Promise<OauthTool> {
  await registerApplication(home, vendor);
  const tool = await oauthTool(harness, home, `${vendor.url}/in`);
  await connectTool(harness, tool, vendor);
  return tool;
}

/** The reason why events wait. */
const held = (tool: OauthTool) =>
  soon('the hold', async () => (await home.ask('GET', tool.url)).body.error?.message);

/** Lets a tool that waits look again, as time does. */
const passTime = ({ id }: OauthTool) =>
  harness.deps.db.run(sql`UPDATE plugin_cursors SET retry_at = NULL
    WHERE plugin_config_id = ${id}`);

const parts = () => harness.deps;
const placeOf = ({ id }: OauthTool) => ({
  config_id: id,
  tool: 'webhook-extensible',
  vendor: findVendor('webhook-extensible')!,
});
const signal = () => AbortSignal.timeout(60_000);

test('Events wait for an application and a connection, and then arrive', async () => {
  const tool = await oauthTool(harness, home, `${vendor.url}/in`);
  await sendEvents(home, 5);
  run();
  assert.match(await held(tool), /no OAuth application .* events wait, and none is lost\.$/);
  await registerApplication(home, vendor);
  await passTime(tool);
  await soon('the next hold', async () =>
    /not connected/.test((await home.ask('GET', tool.url)).body.error?.message) ? true : undefined,
  );
  const ended = await connectTool(harness, tool, vendor);
  assert.match(ended.headers['location']!, /\/projects\/\d+\/plugins\/pipeline_destinations\/\d+$/);
  await taken(5);
  await stopAll();
  assertTaken(uuids(), await stored());
  const shown = await home.ask('GET', `${tool.url}oauth/`);
  assert.equal(shown.body.connection.scopes, 'events.write');
  assert.equal(shown.body.connection.connected_by, home.user.email);
  const { text } = await home.ask('GET', tool.url);
  const lines = await logLines(home, tool.url);
  assert.doesNotMatch(`${shown.text} ${text} ${lines.join(' ')}`, /access-|refresh-|secret-of-the/);
});

test('A token is replaced before it expires, and after a 401, and the events arrive', async () => {
  const tool = await connected();
  await harness.deps.db.run(sql`UPDATE plugin_oauth_connections SET refresh_at = now()
    WHERE plugin_config_id = ${tool.id}`);
  await sendEvents(home, 3);
  run();
  await taken(3);
  assert.equal(vendor.refreshes, 1);
  vendor.expireAll();
  await sendEvents(home, 20);
  await taken(23);
  await stopAll();
  assert.deepEqual([vendor.refreshes, vendor.reuses], [2, 0]);
  assertTaken(uuids(), await stored());
});

test('Of many refreshes at once one is made, and each gets its tokens', async () => {
  const tool = await connected();
  const { generation } = await currentConnection(parts(), placeOf(tool), signal());
  const all = await Promise.all(
    Array.from({ length: 12 }, () =>
      currentConnection(parts(), placeOf(tool), signal(), generation),
    ),
  );
  assert.deepEqual([vendor.refreshes, vendor.reuses], [1, 0]);
  assert.equal(new Set(all.map(({ tokens }) => tokens.access_token)).size, 1);
  assert.ok(all.every((one) => one.generation === generation + 1));
});

test('A refused refresh token stops delivery and says so, until it is connected', async () => {
  const tool = await connected();
  let asked = 0;
  vendor.token_answer = (grant) => {
    if (grant !== 'refresh_token') return undefined;
    asked += 1;
    return { status: 400, body: { error: 'invalid_grant', error_description: 'access-stolen' } };
  };
  vendor.expireAll();
  await sendEvents(home, 4);
  run();
  const reason = await held(tool);
  assert.match(reason, /has to be connected again\. The vendor answered invalid_grant \(400\)/);
  assert.doesNotMatch(reason, /stolen/);
  await passTime(tool);
  const { body } = await home.ask('GET', `${tool.url}oauth/`);
  assert.match(body.connection.refused.reason, /invalid_grant/);
  vendor.token_answer = undefined;
  await connectTool(harness, tool, vendor);
  await taken(4);
  await stopAll();
  // A refused token is shown to the vendor once.
  assert.equal(asked, 1);
  assertTaken(uuids(), await stored());
});

test('A vendor that does not answer is asked again; a token that holds serves on', async () => {
  const tool = await connected();
  vendor.token_answer = () => ({ status: 503, body: {} });
  await harness.deps.db.run(sql`UPDATE plugin_oauth_connections SET refresh_at = now()
    WHERE plugin_config_id = ${tool.id}`);
  const first = await currentConnection(parts(), placeOf(tool), signal());
  assert.equal(first.generation, 1);
  await assert.rejects(
    currentConnection(parts(), placeOf(tool), signal(), first.generation),
    /could not be refreshed\. The vendor answered 503\. Sluice tries again\./,
  );
  vendor.token_answer = undefined;
  const next = await currentConnection(parts(), placeOf(tool), signal(), first.generation);
  assert.equal(next.generation, 2);
});

test('A refresh whose answer was lost is told as that when the old token is refused', async () => {
  const tool = await connected();
  // Another process has refreshed, and was killed before it stored the answer.
  const { tokens, generation } = await currentConnection(parts(), placeOf(tool), signal());
  const body = new URLSearchParams({
    grant_type: 'refresh_token',
    refresh_token: tokens.refresh_token!,
    client_id: 'acme-app',
    client_secret: 'secret-of-the-acme-app',
  });
  assert.equal((await fetch(`${vendor.url}/token`, { method: 'POST', body })).status, 200);
  await harness.deps.db.run(sql`UPDATE plugin_oauth_connections
    SET refresh_claim = gen_random_uuid(), refresh_until = now()
    WHERE plugin_config_id = ${tool.id}`);
  await assert.rejects(
    currentConnection(parts(), placeOf(tool), signal(), generation),
    /connected again.* The refresh before was interrupted/,
  );
});

test('Disconnecting revokes both tokens, and nothing is sent with them any more', async () => {
  const tool = await connected();
  const { tokens } = await currentConnection(parts(), placeOf(tool), signal());
  const ended = await tool.ask('POST', `${tool.url}oauth/disconnect/`);
  assert.deepEqual([ended.status, ended.body], [200, { is_revoked: true, detail: null }]);
  assert.deepEqual(vendor.revoked, [tokens.refresh_token, tokens.access_token]);
  const again = await tool.ask('POST', `${tool.url}oauth/disconnect/`);
  assert.equal(again.status, 409, again.text);
  await sendEvents(home, 1);
  run();
  assert.match(await held(tool), /is not connected/);
});

test('Taking a tool out of a project revokes both tokens', async () => {
  const tool = await connected();
  const { tokens } = await currentConnection(parts(), placeOf(tool), signal());
  const looked = await home.ask('DELETE', `${tool.url}?validate_only=true`);
  assert.deepEqual([looked.status, vendor.revoked], [204, []], looked.text);
  const ended = await home.ask('DELETE', tool.url);
  assert.equal(ended.status, 204, ended.text);
  await soon('the revocation', async () => (vendor.revoked.length === 2 ? true : undefined));
  assert.deepEqual(vendor.revoked, [tokens.refresh_token, tokens.access_token]);
});

test('Tokens that come after their tool was taken out are revoked too', async () => {
  const tool = await connected();
  const { generation } = await currentConnection(parts(), placeOf(tool), signal());
  vendor.beforeAnswer = async () => {
    vendor.beforeAnswer = undefined;
    assert.equal((await home.ask('DELETE', tool.url)).status, 204);
  };
  await assert.rejects(
    currentConnection(parts(), placeOf(tool), signal(), generation),
    /no OAuth application|not connected/,
  );
  // Both pairs: the one that the deletion knew, and the one that came after it.
  assert.equal(new Set(vendor.revoked).size, 4);
});

test('Settings that lead elsewhere, and another client, need another connection', async () => {
  const application = await registerApplication(home, vendor);
  const tool = await oauthTool(harness, home, `${vendor.url}/in`);
  await connectTool(harness, tool, vendor);
  const moved = await home.ask('PATCH', tool.url, { allowed_hosts: ['127.0.0.1', 'evil.example'] });
  assert.equal(moved.status, 200, moved.text);
  await assert.rejects(
    currentConnection(parts(), placeOf(tool), signal()),
    /hosts or addresses of the tool have changed/,
  );
  await connectTool(harness, tool, vendor);
  const kept = await home.ask('PATCH', application, { client_id: 'another' });
  assert.deepEqual([kept.status, kept.body.attr], [400, 'client_secret']);
  const other = await home.ask('PATCH', application, { client_id: 'another', client_secret: 'x' });
  assert.equal(other.status, 200, other.text);
  await assert.rejects(
    currentConnection(parts(), placeOf(tool), signal()),
    /application has changed/,
  );
});
