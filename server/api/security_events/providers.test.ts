import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { aroundTests } from '../../../test/around_tests.ts';
import { newDirectory } from '../../../test/factories/people/directories.ts';
import { addMember } from '../../../test/factories/people/members.ts';
import { newPerson, trySignIn } from '../../../test/factories/people/people.ts';
import {
  assertRefused,
  openNavigator,
  openSingleSignOn,
  signInBySaml,
} from '../../../test/factories/people/single_sign_on.ts';
import type { TestOrganization } from '../../../test/harness.ts';

const world = aroundTests(openSingleSignOn);

async function eventsOf(home: TestOrganization): Promise<Record<string, any>[]> {
  await world.harness.deps.security_log.flush();
  const path = `/api/organizations/${home.organization.id}/security_events/`;
  return (await home.ask('GET', path)).body.results;
}
const brief = (events: Record<string, any>[]) =>
  events.map(({ event, reason, user }) => [event, reason, user?.email ?? null]);

test('a refused single sign-on is in the list of the domain’s organization', async () => {
  const home = await world.newHome({}, 'refused.example');
  const stranger = await world.newHome({}, 'stranger.example');
  const browser = openNavigator(world.harness);
  const nobody = await signInBySaml(world, browser, 'ada@refused.example');
  await assertRefused(world, browser, nobody, 'no_account');
  const person = await newPerson(world.harness, { email: 'bob@refused.example' });
  const unverified = await signInBySaml(world, browser, person.email);
  await assertRefused(world, browser, unverified, 'account_unverified');
  assert.deepEqual(brief(await eventsOf(home)), [
    ['single_sign_on_refused', 'account_unverified', person.email],
    ['single_sign_on_refused', 'no_account', null],
  ]);
  assert.deepEqual(await eventsOf(stranger), []);
});

test('a password where single sign-on is enforced', async () => {
  const home = await world.newHome({ sso_enforcement: 'saml' }, 'enforced.example');
  const person = await newPerson(world.harness, { email: 'ada@enforced.example' });
  const elsewhere = await world.harness.newOrganization();
  await addMember(world.harness.deps, elsewhere.organization.id, person, 1);
  const answer = await trySignIn(world.harness, person.email);
  assert.equal(answer.body.code, 'sso_enforced');
  assert.deepEqual(brief(await eventsOf(home)), [['sign_in_failed', 'sso_enforced', null]]);
  assert.deepEqual(await eventsOf(elsewhere), []);
});

test('a refused token of a directory is in the list of its organization', async () => {
  const directory = await newDirectory(world.harness);
  const other = await newDirectory(world.harness);
  for (const token of ['wrong', `slc_${'x'.repeat(43)}`, other.token])
    assert.equal((await directory.scim('GET', '/Users', undefined, token)).status, 401);
  const unknown = await world.harness.request('GET', `/scim/v2/${randomUUID()}/Users`, {
    key: other.token,
  });
  assert.equal(unknown.status, 401);
  const events = await eventsOf(directory);
  assert.deepEqual(
    events.map(({ event, reason, route }) => [event, reason, route]),
    [
      ['scim_token_refused', 'unknown', '/scim/v2/:domain_id/Users'],
      ['scim_token_refused', 'unknown', '/scim/v2/:domain_id/Users'],
      ['scim_token_refused', 'malformed', '/scim/v2/:domain_id/Users'],
    ],
  );
  assert.deepEqual(await eventsOf(other), []);
});

test('an invalid link of the operator is not a refused right', async () => {
  const answer = await world.harness.request('POST', '/api/single_sign_on/link/', {
    body: { token: 'x'.repeat(43) },
  });
  assert.equal(answer.status, 403);
  assert.deepEqual(world.reasons(), ['link_unknown']);
});
