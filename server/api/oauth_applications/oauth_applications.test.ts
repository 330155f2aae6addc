import assert from 'node:assert/strict';
import { test } from 'node:test';
import { registerApplication } from '../../../test/factories/plugins/oauth_tools.ts';
import { shareHarness } from '../../../test/harness.ts';

const harness = shareHarness({ clickhouse: false });

test('an application has what its vendor documents, and never shows its secret', async () => {
  const home = await harness.newOrganization();
  const list = `/api/organizations/${home.organization.id}/oauth_applications/`;
  const sent = { tool: 'hubspot', client_id: 'id', client_secret: 'never-shown' };
  const created = await home.ask('POST', list, sent);
  assert.equal(created.status, 201, created.text);
  const { authorize_url, token_url, redirect_uri, scopes, connections } = created.body;
  assert.deepEqual(
    [authorize_url, token_url, connections],
    ['https://app.hubspot.com/oauth/authorize', 'https://api.hubapi.com/oauth/v1/token', 0],
  );
  assert.match(scopes, /^oauth crm\.objects/);
  assert.equal(redirect_uri, `${harness.deps.config.public_url}/complete/tool/hubspot/`);
  const again = await home.ask('POST', list, sent);
  assert.deepEqual([again.status, again.body.attr, again.body.code], [400, 'tool', 'unique']);
  const one = `${list}${created.body.id}/`;
  const changed = await home.ask('PATCH', one, { scopes: 'oauth', client_secret: 'another' });
  assert.deepEqual([changed.status, changed.body.scopes], [200, 'oauth']);
  const activity = await home.ask('GET', `/api/organizations/${home.organization.id}/activity/`);
  for (const { text } of [created, changed, await home.ask('GET', list), activity])
    assert.doesNotMatch(text, /never-shown|another/);
  assert.equal((await home.ask('DELETE', one)).status, 204);
});

test('addresses are https ones, and another place wants the secret again', async () => {
  const home = await harness.newOrganization();
  const vendor = { url: 'http://127.0.0.1:9' };
  const one = await registerApplication(home, vendor);
  for (const [field, address] of [
    ['token_url', 'http://vendor.example/token'],
    ['token_url', 'https://user:pass@vendor.example/token'],
    ['authorize_url', 'javascript:alert(1)'],
    ['revoke_url', 'file:///etc/passwd'],
  ] as const) {
    const refused = await home.ask('PATCH', one, { [field]: address, client_secret: 'x' });
    assert.deepEqual([refused.status, refused.body.attr], [400, field], refused.text);
  }
  const moved = await home.ask('PATCH', one, { token_url: 'https://evil.example/token' });
  assert.deepEqual([moved.status, moved.body.attr], [400, 'client_secret']);
  const list = `/api/organizations/${home.organization.id}/oauth_applications/`;
  const unknown = { tool: 'webhook', client_id: 'id', client_secret: 'x' };
  const refused = await home.ask('POST', list, unknown);
  assert.deepEqual([refused.status, refused.body.attr], [400, 'tool']);
  const incomplete = await home.ask('POST', list, { ...unknown, tool: 'hilo' });
  assert.deepEqual([incomplete.status, incomplete.body.attr], [400, 'authorize_url']);
});

test('the catalogue says which tools want an application, until there is one', async () => {
  const home = await harness.newOrganization();
  const wanting = async (search: string) => {
    const path = `/api/organizations/${home.organization.id}/pipeline_destinations/repository/`;
    const { body } = await home.ask('GET', `${path}?search=${search}`);
    return body.results[0].wants_application;
  };
  assert.deepEqual(
    [await wanting('extensible'), await wanting('m3ter'), await wanting('slack')],
    [true, false, false],
  );
  await registerApplication(home, { url: 'http://127.0.0.1:9' });
  assert.equal(await wanting('extensible'), false);
});
