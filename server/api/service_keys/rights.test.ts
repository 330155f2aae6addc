import assert from 'node:assert/strict';
import { test } from 'node:test';
import sql from 'sql-template-tag';
import { newExport, noop_export } from '../../../test/factories/batch_exports/batch_exports.ts';
import { agentOf } from '../../../test/factories/agents.ts';
import { newServiceKey } from '../../../test/factories/people/service_keys.ts';
import { aroundTests } from '../../../test/around_tests.ts';
import { openHarness } from '../../../test/harness.ts';
import type { Answer, TestOrganization } from '../../../test/harness.ts';
import type { ServiceKeyFields } from './schema.ts';

// A server alone: neighbours would use up the refusals of an address that are told one by one.
const harness = aroundTests(() => openHarness({ clickhouse: false }));

/** An organization, with an administrator who is signed in and made the service key. */
async function newHome(fields: Partial<ServiceKeyFields> = {}) {
  const home = await harness.newOrganization();
  const maker = await harness.newMember(home.organization.id, 8);
  const key = await newServiceKey(harness, { ...home, user: maker.user }, fields);
  const ask = (method: string, path: string, body?: unknown) =>
    harness.request(method, path, { key, body });
  return { home, maker, key, ask, organization: `/api/organizations/${home.organization.id}/` };
}

const refusal = ({ status, body }: Answer) => `${status} ${body?.code}`;

async function idOfKey(home: TestOrganization): Promise<string> {
  const row = await harness.deps.db.row<{ id: string }>(
    sql`SELECT id FROM service_keys WHERE organization_id = ${home.organization.id}::uuid`,
  );
  return row!.id;
}

test('a key outlives its maker, with the rights that it was given', async () => {
  const { home, maker, ask, organization } = await newHome({ level: 8 });
  const exports = `${organization}batch_exports/`;
  const create = () => ask('POST', exports, { ...noop_export, team_id: home.project.id });
  const first = await create();
  assert.equal(first.status, 201, first.text);
  const rename = (name: string) => ask('PATCH', organization, { name });
  const shown = async () => {
    const answer = await home.ask('GET', `${organization}service_keys/`);
    const [{ created_by, is_creator_administrator }] = answer.body.results;
    return [created_by?.uuid ?? null, is_creator_administrator];
  };
  assert.deepEqual(await shown(), [maker.user.uuid, true]);
  await harness.deps.db.run(sql`UPDATE members SET level = 1 WHERE user_id = ${maker.user.id}`);
  assert.equal((await rename('One')).status, 200);
  assert.deepEqual(await shown(), [maker.user.uuid, false], 'the page says who may still know it');
  await harness.deps.db.run(sql`UPDATE users SET is_active = false WHERE id = ${maker.user.id}`);
  assert.equal((await rename('Two')).status, 200);
  await harness.deps.db.run(sql`DELETE FROM members WHERE user_id = ${maker.user.id}`);
  assert.equal((await create()).status, 201);
  await harness.deps.db.run(sql`DELETE FROM users WHERE id = ${maker.user.id}`);
  assert.equal((await rename('Three')).status, 200);
  assert.deepEqual(await shown(), [null, false]);
});

test('rules about how people sign in do not close an organization to its keys', async () => {
  const { home, ask, organization } = await newHome();
  await harness.deps.db.run(sql`UPDATE organizations SET enforce_2fa = true, requires_sso = true
    WHERE id = ${home.organization.id}::uuid`);
  assert.equal((await ask('GET', organization)).status, 200);
  await harness.deps.db.run(sql`UPDATE organizations SET allowed_ip_ranges = '{203.0.113.0/24}'
    WHERE id = ${home.organization.id}::uuid`);
  assert.equal(
    refusal(await ask('GET', organization)),
    '403 permission_denied',
    'but addresses do',
  );
});

test('a key does nothing that needs a person, whatever its row says', async () => {
  const { home, ask, organization } = await newHome();
  // As if somebody had written rights into the row that no key gets.
  const id = await idOfKey(home);
  await harness.deps.db.run(sql`UPDATE service_keys SET scopes = '{*}', level = 8
    WHERE id = ${id}::uuid`);
  const domain = { domain: `${home.project.uuid}.example.com` };
  for (const [method, path, body] of [
    ['GET', '/api/users/@me/'],
    ['PATCH', '/api/users/@me/', { first_name: 'X' }],
    ['GET', '/api/users/@me/activity/'],
    ['GET', '/api/sessions/'],
    ['DELETE', '/api/sessions/'],
    ['GET', '/api/personal_api_keys/'],
    ['POST', '/api/personal_api_keys/', { label: 'X', scopes: ['*'] }],
    ['POST', '/api/organizations/', { name: 'X' }],
    ['POST', `${organization}service_keys/`, { name: 'X', scopes: ['project:read'] }],
    ['POST', `${organization}service_keys/${id}/roll/`],
    ['DELETE', `${organization}service_keys/${id}/`],
    ['POST', `${organization}invites/`, { target_email: 'x@example.com' }],
    ['PATCH', `${organization}members/${home.user.uuid}/`, { level: 1 }],
    ['DELETE', `${organization}members/${home.user.uuid}/`],
    ['POST', `${organization}domains/`, domain],
    ['DELETE', organization],
  ] as const)
    assert.equal(
      refusal(await ask(method, path, body)),
      '403 permission_denied',
      `${method} ${path}`,
    );
});

test('an invite is not accepted with a service key', async () => {
  const { home, ask, organization } = await newHome();
  const invite = await home.ask('POST', `${organization}invites/`, {
    target_email: 'somebody@example.com',
  });
  assert.equal(invite.status, 201);
  const answer = await ask('POST', `/api/invites/${invite.body.id}/accept/`, { token: 'x' });
  assert.equal(refusal(answer), '403 permission_denied');
});

test('other organizations and projects are unknown to a key', async () => {
  const stranger = await harness.newOrganization();
  const { home, ask, organization } = await newHome();
  const theirs = `/api/organizations/${stranger.organization.id}/`;
  for (const path of [theirs, `${theirs}batch_exports/`, `/api/projects/${stranger.project.id}/`])
    assert.equal(refusal(await ask('GET', path)), '404 not_found', path);
  assert.equal((await ask('GET', '/api/organizations/@current/')).body.id, home.organization.id);
  assert.equal((await ask('GET', '/api/projects/@current/')).body.id, home.project.id);
  const listed = (await ask('GET', '/api/organizations/')).body;
  assert.deepEqual(
    [listed.count, listed.results[0].id, listed.results[0].membership_level],
    [1, home.organization.id, 1],
  );
  const second = await home.ask('POST', '/api/projects/', {
    name: 'Second',
    organization: home.organization.id,
  });
  await harness.deps.db
    .run(sql`UPDATE service_keys SET scoped_teams = ${[second.body.id]}::integer[]
    WHERE id = ${await idOfKey(home)}::uuid`);
  for (const path of [organization, `/api/projects/${home.project.id}/`])
    assert.equal(refusal(await ask('GET', path)), '404 not_found', path);
  assert.equal((await ask('GET', '/api/projects/@current/')).body.id, second.body.id);
  assert.equal((await ask('GET', '/api/organizations/')).body.count, 0);
  assert.equal((await ask('GET', '/api/projects/')).body.count, 1);
});

test('missing levels and scopes are refused, and the organization hears of it', async () => {
  const { home, key, ask, organization } = await newHome({ scopes: ['organization:write'] });
  assert.equal(refusal(await ask('PATCH', organization, { name: 'X' })), '403 permission_denied');
  assert.equal(refusal(await ask('GET', '/api/projects/')), '403 permission_denied');
  const wrong = `${key.slice(0, -10)}AAAA${key.slice(-6)}`;
  await harness.deps.db.run(sql`UPDATE service_keys SET expires_at = now() - interval '1 hour'
    WHERE id = ${await idOfKey(home)}::uuid`);
  for (const shown of [key, wrong, `${key}0`, key.replace('slv_', 'slk_')])
    assert.equal((await harness.request('GET', '/api/projects/', { key: shown })).status, 401);
  await harness.deps.security_log.flush();
  const events = (await home.ask('GET', `${organization}security_events/`)).body.results;
  assert.deepEqual(
    events.map((one: { event: string; reason: string; user: unknown }) => [
      one.event,
      one.reason,
      one.user,
    ]),
    [
      ['key_refused', 'expired', null],
      ['right_refused', 'scope', null],
      ['right_refused', 'level', null],
    ],
  );
});

test('a key that is revoked during a request changes nothing', async () => {
  const { home, ask, organization } = await newHome({ level: 8 });
  const id = await idOfKey(home);
  const held = Promise.withResolvers<void>();
  const taken = Promise.withResolvers<void>();
  const revoking = harness.deps.db.transaction(async (tx) => {
    await tx.run(sql`DELETE FROM service_keys WHERE id = ${id}::uuid`);
    taken.resolve();
    await held.promise;
  });
  await taken.promise;
  const changing = ask('PATCH', organization, { name: 'Late' });
  await new Promise((done) => setTimeout(done, 100));
  held.resolve();
  await revoking;
  assert.equal(refusal(await changing), '401 authentication_failed');
  assert.notEqual((await home.ask('GET', organization)).body.name, 'Late');
});

test('an agent works with a service key, and only where its organization lets agents', async () => {
  const { home, key } = await newHome({ scopes: ['batch_export:write', 'project:read'] });
  const { id } = await newExport(home);
  const agent = await agentOf(harness, key);
  const listed = await agent.call('list_projects');
  assert.equal(listed.is_error, false, listed.text);
  assert.deepEqual(listed.data.key.name, { untrusted_text: 'Loader' });
  assert.ok((await agent.toolNames()).includes('list_exports'));
  await harness.deps.db.run(sql`UPDATE organizations SET forbids_agent_writes = true
    WHERE id = ${home.organization.id}::uuid`);
  const paused = await harness.request(
    'POST',
    `/api/projects/${home.project.id}/batch_exports/${id}/pause/`,
    {
      key,
      headers: { 'sluice-agent': 'mcp' },
    },
  );
  assert.equal(refusal(paused), '403 permission_denied');
  await agent.close();
});
