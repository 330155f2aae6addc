import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aroundTests } from '../../../test/around_tests.ts';
import {
  assertRefused,
  openNavigator,
  openSingleSignOn,
  signInBySaml,
} from '../../../test/factories/people/single_sign_on.ts';

const world = aroundTests(openSingleSignOn);

test('an invite whose sender was removed is void at the provider too', async () => {
  const home = await world.newHome();
  const base = `/api/organizations/${home.organization.id}/`;
  const inviter = await world.harness.newMember(home.organization.id, 15);
  const body = { target_email: 'ada@acme.example', level: 15 };
  assert.equal((await inviter.ask('POST', `${base}invites/`, body)).status, 201);
  assert.equal((await home.ask('DELETE', `${base}members/${inviter.user.uuid}/`)).status, 204);
  const browser = openNavigator(world.harness);
  await assertRefused(world, browser, await signInBySaml(world, browser), 'no_account');
  const invites = await home.ask('GET', `${base}invites/`);
  assert.equal(
    (await home.ask('POST', `${base}invites/${invites.body.results[0].id}/resend/`)).status,
    200,
  );
  assert.equal((await signInBySaml(world, browser)).status, 303);
});
