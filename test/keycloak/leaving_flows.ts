import assert from 'node:assert/strict';
import { foundOpenidCompany, foundSamlCompany, linkIn, membersOf, password } from './companies.ts';
import type { DomainCompany } from './companies.ts';
import { assertTold, signedIn } from './flow.ts';
import type { Flow } from './flow.ts';
import { addPerson, visitByOpenid, visitBySaml } from './visit.ts';
import type { Ask, World } from './world.ts';

const keys = '/api/personal_api_keys/';

/** A person gives the account that a provider opens another address. */
export const leaving_flows: Flow[] = [
  {
    name: 'P-03: an address outside of an enforced domain ends the membership (SAML)',
    walk: async (world) => {
      const company = await foundSamlCompany(world, world.realm, {
        name: 'Holds',
        domain: 'holds.example',
        jit_provisioning_enabled: true,
        sso_enforcement: 'saml',
      });
      const [email, elsewhere] = ['mallory@holds.example', 'mallory@not-holds.example'];
      await addPerson(world, email);
      const { ask, ...visited } = await visitBySaml(world, email);
      const { uuid } = await signedIn({ ask, ...visited });
      await ask(403, 'POST', '/api/users/@me/email/', { email: elsewhere });
      // Their own password, with which they may change the account.
      await ask(202, 'POST', '/api/users/@me/reset_password/', {});
      await choosePassword(world, email);
      const again = await visitBySaml(world, email);
      await again.ask(200, 'POST', '/api/sessions/@current/confirm/', { password });
      const key = await again.ask(201, 'POST', keys, { label: 'stays', scopes: ['*'] });
      const change = { email: elsewhere, current_password: password };
      await leaveTheDomain(world, company, again.ask, change);
      await assertOutside(world, company, elsewhere, { uuid, key: key['value'] });
    },
  },
  {
    name: 'P-03: an address outside of an enforced domain ends the membership (OpenID)',
    walk: async (world) => {
      const company = await foundOpenidCompany(world, 'Stays', 'stays.example');
      const [email, elsewhere] = ['mallory@stays.example', 'mallory@not-stays.example'];
      await addPerson(world, email);
      const { ask, ...visited } = await visitByOpenid(world, email);
      const { uuid } = await signedIn({ ask, ...visited });
      const key = await ask(201, 'POST', keys, { label: 'stays', scopes: ['*'] });
      await leaveTheDomain(world, company, ask, { email: elsewhere });
      await world.anybody(202, 'POST', '/api/users/reset_password/', { email: elsewhere });
      await choosePassword(world, elsewhere);
      await assertOutside(world, company, elsewhere, { uuid, key: key['value'] });
    },
  },
];

async function choosePassword(world: World, email: string): Promise<void> {
  const chosen = { token: await linkIn(world, email, 'reset-password'), password };
  await world.anybody(200, 'POST', '/api/users/reset_password/confirm/', chosen);
}

/** The member changes the address, is no longer a member, and the owner gets a mail. */
async function leaveTheDomain(
  world: World,
  company: DomainCompany,
  ask: Ask,
  change: { email: string; current_password?: string },
): Promise<void> {
  assert.equal(Object.keys(await membersOf(company)).length, 2);
  await ask(200, 'POST', '/api/users/@me/email/', change);
  const token = await linkIn(world, change.email, 'verify-email');
  await ask(200, 'POST', '/api/users/verify_email/', { token });
  assert.deepEqual(await membersOf(company), { [company.owner.email]: 15 });
  await assertTold(world, company.owner.email, /^A member left /);
}

/** The account still exists, with its password and key, and without anything of the company. */
async function assertOutside(
  world: World,
  { path }: DomainCompany,
  email: string,
  { uuid, key }: { uuid: string; key: string },
): Promise<void> {
  const ask = world.asking({});
  await ask(201, 'POST', '/api/sessions/', { email, password });
  const account = await ask(200, 'GET', '/api/users/@me/');
  assert.deepEqual([account['uuid'], account['organizations']], [uuid, []]);
  await ask(404, 'GET', `${path}/`);
  await world.asking({ authorization: `Bearer ${key}` })(404, 'GET', `${path}/`);
}
