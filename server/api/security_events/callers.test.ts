import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import sql from 'sql-template-tag';
import { aroundTests } from '../../../test/around_tests.ts';
import { addMember } from '../../../test/factories/people/members.ts';
import { newPerson } from '../../../test/factories/people/people.ts';
import { openSecurityWorld } from '../../../test/factories/people/security.ts';
import type { TestOrganization } from '../../../test/harness.ts';
import { maskApiKey } from '../../platform/http/caller/api_key.ts';

const world = aroundTests(openSecurityWorld);
beforeEach(() => void world.lines());

/** Shortens a log line or a row to the parts that both have. */
const brief = (told: Record<string, any>) =>
  `${told['security_event'] ?? told['event']} ${told['reason']}`;
const told = (home: TestOrganization, query = '') =>
  world.eventsOf(home.organization.id, home.key, query);
const ownEvents = async (cookie: string) => {
  await world.harness.deps.security_log.flush();
  const path = '/api/users/@me/security_events/';
  return (await world.harness.request('GET', path, { headers: { cookie } })).body.results;
};
const assertNoSecrets = (...secrets: string[]) => {
  for (const secret of secrets)
    assert.ok(!world.logged().includes(secret), `the log holds ${secret}`);
};

test('refused rights: the level, the scope, a session that is needed, a rule', async () => {
  const home = await world.harness.newOrganization();
  const base = `/api/organizations/${home.organization.id}/`;
  const member = await world.harness.newMember(home.organization.id, 1);
  const narrow = await world.harness.newKey(home.user, { scopes: ['project:read'] });
  assert.equal((await member.ask('DELETE', base)).status, 403);
  assert.equal((await world.harness.request('DELETE', base, { key: narrow })).status, 403);
  assert.equal((await home.ask('POST', '/api/personal_api_keys/', {})).status, 403);
  const oneself = `${base}members/@me/`;
  assert.equal((await home.ask('PATCH', oneself, { level: 1 })).status, 403);
  assert.deepEqual(
    world.lines().map((line) => [brief(line), line['method'], line['route']]),
    [
      ['right_refused level', 'DELETE', '/api/organizations/:id/'],
      ['right_refused scope', 'DELETE', '/api/organizations/:id/'],
      ['right_refused needs_session', 'POST', '/api/personal_api_keys/'],
      ['right_refused rule', 'PATCH', '/api/organizations/:organization_id/members/:user__uuid/'],
    ],
  );
  const events = await told(home, '?ordering=number');
  // A request without an organization in its path concerns the person alone.
  assert.deepEqual(
    events.map((event) => [brief(event), event['user'].uuid, event['item_id']]),
    [
      ['right_refused level', member.user.uuid, home.organization.id],
      ['right_refused scope', home.user.uuid, home.organization.id],
      ['right_refused rule', home.user.uuid, home.organization.id],
    ],
  );
  assert.equal(events[0]!['key_mask'], maskApiKey(member.key));
  const own = await ownEvents(await world.harness.newSession(home.user));
  assert.deepEqual(own.map(brief), [
    'right_refused rule',
    'right_refused needs_session',
    'right_refused scope',
  ]);
  assertNoSecrets(narrow, member.key);
});

test('refused sessions: ended, broken, over, and one whose token was replaced', async () => {
  const home = await world.harness.newOrganization();
  const person = await newPerson(world.harness);
  await addMember(world.harness.deps, home.organization.id, person, 1);
  const ask = (cookie: string) =>
    world.harness
      .request('GET', '/api/projects/', { headers: { cookie } })
      .then(({ status }) => status);
  const cookie = await world.harness.newSession(person);
  const { db } = world.harness.deps;
  assert.equal(await ask(`${cookie.slice(0, -1)}!`), 401);
  assert.equal(await ask('sluice_session=sls_' + 'x'.repeat(43)), 401);
  await db.run(sql`UPDATE sessions SET last_used_at = last_used_at - interval '8 days'
    WHERE user_id = ${person.id}`);
  assert.equal(await ask(cookie), 401);
  await db.run(sql`UPDATE sessions SET last_used_at = now(), previous_token_hash = token_hash,
    token_hash = 'another', token_created_at = token_created_at - interval '1 hour'
    WHERE user_id = ${person.id}`);
  assert.equal(await ask(cookie), 401);
  assert.deepEqual(world.lines().map(brief), [
    'session_refused malformed',
    'session_refused ended',
    'session_refused over',
    'session_token_reused replaced',
  ]);
  // Only the person sees that a session expired.
  assert.deepEqual((await told(home)).map(brief), ['session_token_reused replaced']);
  const own = await ownEvents(await world.harness.newSession(person));
  assert.deepEqual(own.map(brief), ['session_token_reused replaced', 'session_refused over']);
  assertNoSecrets(cookie.split('=')[1]!);
});
