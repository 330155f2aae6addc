import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { addMember } from '../../../../test/factories/people/members.ts';
import {
  beginConnecting,
  connectTool,
  oauthTool,
  registerApplication,
} from '../../../../test/factories/plugins/oauth_tools.ts';
import { aroundTests } from '../../../../test/around_tests.ts';
import { openHarness } from '../../../../test/harness.ts';
import { openOauthVendor } from '../../../../test/servers/oauth_vendor.ts';

const harness = aroundTests(() => openHarness());
const vendor = aroundTests(() => openOauthVendor());

async function toolOf(home: Awaited<ReturnType<typeof harness.newOrganization>>) {
  await registerApplication(home, vendor);
  return oauthTool(harness, home, `${vendor.url}/in`);
}

const connections = async (config_id: number) =>
  harness.deps.db.rows(
    sql`SELECT 1 FROM plugin_oauth_connections WHERE plugin_config_id = ${config_id}`,
  );

test('a callback counts once, in the session that began it, and for its tool alone', async () => {
  const home = await harness.newOrganization();
  const tool = await toolOf(home);
  const path = await beginConnecting(harness, tool, vendor);
  const stranger = await harness.newOrganization();
  const other_session = await harness.newSession(home.user);
  for (const [cookie, where] of [
    [undefined, path],
    [await harness.newSession(stranger.user), path],
    [other_session, path],
  ] as const) {
    const headers: Record<string, string> = cookie === undefined ? {} : { cookie };
    const refused = await harness.request('GET', where, { headers });
    assert.equal(refused.status, 403, refused.text);
  }
  const wrong = await tool.ask('GET', path.replace('webhook-extensible', 'hubspot'));
  assert.equal(wrong.status, 403, wrong.text);
  // Whoever has guessed wrong has used it up.
  assert.equal((await tool.ask('GET', path)).status, 403);
  assert.deepEqual(await connections(tool.id), []);
  const again = await beginConnecting(harness, tool, vendor);
  const ends = await Promise.all(Array.from({ length: 4 }, () => tool.ask('GET', again)));
  assert.deepEqual(ends.map(({ status }) => status).sort(), [303, 403, 403, 403]);
});

test('a code of another authorization, or a refusal of the vendor, connects nothing', async () => {
  const home = await harness.newOrganization();
  const tool = await toolOf(home);
  const stolen = new URLSearchParams(
    (await beginConnecting(harness, tool, vendor)).split('?')[1],
  ).get('code')!;
  const own = await beginConnecting(harness, tool, vendor);
  const injected = await tool.ask('GET', own.replace(/code=[^&]+/, `code=${stolen}`));
  assert.deepEqual([injected.status, /invalid_grant/.test(injected.text)], [502, true]);
  const denied = await beginConnecting(harness, tool, vendor);
  const refused = await tool.ask('GET', denied.replace(/code=[^&]+/, 'error=access_denied'));
  assert.deepEqual([refused.status, /access_denied/.test(refused.text)], [502, true]);
  assert.deepEqual(await connections(tool.id), []);
});

test('an authorization expires, and ends with the right to change plugins', async () => {
  const home = await harness.newOrganization();
  const tool = await toolOf(home);
  const late = await beginConnecting(harness, tool, vendor);
  await harness.deps.db.run(sql`UPDATE plugin_oauth_requests SET expires_at = now()`);
  assert.equal((await tool.ask('GET', late)).status, 403);
  const demoted = await beginConnecting(harness, tool, vendor);
  await harness.deps.db.run(sql`UPDATE members SET level = 1 WHERE user_id = ${home.user.id}`);
  assert.equal((await tool.ask('GET', demoted)).status, 403);
  assert.deepEqual(await connections(tool.id), []);
});

test('connecting needs a session of an administrator, and an application', async () => {
  const home = await harness.newOrganization();
  const tool = await oauthTool(harness, home, `${vendor.url}/in`);
  const without = await tool.ask('POST', `${tool.url}oauth/connect/`);
  assert.equal(without.status, 409, without.text);
  await registerApplication(home, vendor);
  const by_key = await home.ask('POST', `${tool.url}oauth/connect/`);
  assert.equal(by_key.status, 403, by_key.text);
  const member = await harness.newOrganization();
  await addMember(harness.deps, home.organization.id, member.user, 1);
  const cookie = await harness.newSession(member.user);
  for (const path of ['connect/', 'disconnect/']) {
    const refused = await harness.request('POST', `${tool.url}oauth/${path}`, {
      headers: { cookie },
    });
    assert.equal(refused.status, 403, refused.text);
  }
  const read = await harness.request('GET', `${tool.url}oauth/`, { headers: { cookie } });
  assert.equal(read.status, 200, read.text);
});

test('the tokens open for their own config alone', async () => {
  const home = await harness.newOrganization();
  const tool = await toolOf(home);
  await connectTool(harness, tool, vendor);
  const row = await harness.deps.db.row<{ tokens_sealed: Buffer }>(
    sql`SELECT tokens_sealed FROM plugin_oauth_connections WHERE plugin_config_id = ${tool.id}`,
  );
  const { secrets } = harness.deps;
  const context = (id: number) => `plugin_oauth_connections:${id}:tokens_sealed`;
  assert.match(secrets.open(row!.tokens_sealed, context(tool.id)), /access-/);
  assert.throws(() => secrets.open(row!.tokens_sealed, context(tool.id + 1)));
});
