import assert from 'node:assert/strict';
import { foundCompany, foundOpenidCompany, invite, membersOf, proveAddress } from './companies.ts';
import { assertRefused, signedIn } from './flow.ts';
import type { Flow } from './flow.ts';
import { addPerson, visitByOpenid } from './visit.ts';
import { openid_client } from './world.ts';

/** Sign-ins by OpenID Connect that succeed, and sign-ins that are refused. */
export const openid_flows: Flow[] = [
  {
    name: 'OpenID: somebody new joins a domain that names the provider, and no password counts',
    walk: async (world) => {
      const company = await foundOpenidCompany(world, 'Named', 'named.example');
      const email = 'ada@named.example';
      await addPerson(world, email);
      const visited = await visitByOpenid(world, email);
      const account = await signedIn(visited);
      assert.deepEqual(
        [account['email'], account['first_name'], account['last_name']],
        [email, 'Ada', 'Lovelace'],
      );
      const { method } = await visited.ask(200, 'GET', '/api/sessions/@current/');
      assert.equal(method, 'openid');
      assert.equal((await membersOf(company))[email], 1);
      assert.equal((await signedIn(await visitByOpenid(world, email)))['uuid'], account['uuid']);
      const refused = await world.anybody(400, 'POST', '/api/sessions/', { email, password: 'x' });
      assert.equal(refused['code'], 'sso_enforced');
    },
  },
  {
    name: 'OpenID: a member keeps the account',
    walk: async (world) => {
      const owner = 'owner@kept-founders.example';
      const company = await foundCompany(world, { name: 'Kept', owner });
      const email = 'grace@kept.example';
      const member = await invite(world, company, email, 8);
      await proveAddress(world, member);
      const { uuid } = await member.ask(200, 'GET', '/api/users/@me/');
      await addPerson(world, email);
      assert.equal((await signedIn(await visitByOpenid(world, email)))['uuid'], uuid);
    },
  },
  {
    name: 'OpenID: an address that Keycloak has not verified is refused',
    walk: async (world) => {
      await foundOpenidCompany(world, 'Unverified', 'unverified.example');
      const email = 'ada@unverified.example';
      const id = await addPerson(world, email, { emailVerified: false });
      world.reasons();
      await assertRefused(world, await visitByOpenid(world, email), 'email_missing');
      await world.realm.changePerson(id, { emailVerified: true });
      await signedIn(await visitByOpenid(world, email));
    },
  },
  {
    name: 'OpenID: with another secret at Keycloak no code is redeemed',
    walk: async (world) => {
      await foundOpenidCompany(world, 'Secret', 'secret.example');
      const email = 'ada@secret.example';
      await addPerson(world, email);
      const client = { ...openid_client, redirect_uri: `${world.address}/complete/openid/` };
      await world.realm.setOpenidClient({ ...client, secret: 'another one' });
      world.reasons();
      await assertRefused(world, await visitByOpenid(world, email), 'provider_answer');
      await world.realm.setOpenidClient(client);
      await signedIn(await visitByOpenid(world, email));
    },
  },
];
