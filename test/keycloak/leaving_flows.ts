import assert from 'node:assert/strict';
import { foundOpenidCompany, foundSamlCompany, linkIn, membersOf, password } from './companies.ts';
import type { DomainCompany } from './companies.ts';
import { assertTold, signedIn } from './flow.ts';
import type { Flow } from './flow.ts';
import { addPerson, visitByOpenid, visitBySaml } from './visit.ts';
import type { World } from './world.ts';

const keys = '/api/personal_api_keys/';

/** Somebody gives the account that a provider opens another address. */
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
      // The key was limited to the organization, so it is deleted.
      await leaveTheDomain(world, company, visitBySaml, 401);
    },
  },
  {
    name: 'P-03: an address outside of an enforced domain ends the membership (OpenID)',
    walk: async (world) => {
      const company = await foundOpenidCompany(world, 'Stays', 'stays.example');
      await leaveTheDomain(world, company, visitByOpenid, 404);
    },
  },
];

/** Somebody comes in by the provider, gives the account another address, and then a password. */
async function leaveTheDomain(
  world: World,
  company: DomainCompany,
  visitBy: typeof visitByOpenid,
  key_answer: number,
): Promise<void> {
  const email = `mallory@${company.domain}`;
  const elsewhere = `mallory@not-${company.domain}`;
  await addPerson(world, email);
  const { ask, ...visited } = await visitBy(world, email);
  const { uuid } = await signedIn({ ask, ...visited });
  assert.equal((await membersOf(company))[email], 1);
  const key = await ask(201, 'POST', keys, { label: 'stays', scopes: ['*'] });
  await ask(200, 'POST', '/api/users/@me/email/', { email: elsewhere });
  const token = await linkIn(world, elsewhere, 'verify-email');
  await ask(200, 'POST', '/api/users/verify_email/', { token });
  assert.deepEqual(await membersOf(company), { [company.owner.email]: 15 });
  await assertTold(world, company.owner.email, /^A member left /);

  await world.anybody(202, 'POST', '/api/users/reset_password/', { email: elsewhere });
  const chosen = { token: await linkIn(world, elsewhere, 'reset-password'), password };
  await world.anybody(200, 'POST', '/api/users/reset_password/confirm/', chosen);
  const again = world.asking({});
  await again(201, 'POST', '/api/sessions/', { email: elsewhere, password });
  const account = await again(200, 'GET', '/api/users/@me/');
  assert.deepEqual([account['uuid'], account['organizations']], [uuid, []]);
  await again(404, 'GET', `${company.path}/`);
  const with_key = world.asking({ authorization: `Bearer ${key['value']}` });
  await with_key(key_answer, 'GET', `${company.path}/`);
}
