import assert from 'node:assert/strict';
import { foundSamlCompany, invite, membersOf, proveAddress } from './companies.ts';
import { signedIn } from './flow.ts';
import type { Flow } from './flow.ts';
import { addPerson, usernameOf, visit, visitBySaml } from './visit.ts';

/** Sign-ins by SAML that succeed. */
export const saml_flows: Flow[] = [
  {
    name: 'SAML: Keycloak imports our metadata, and a test shows whom it would sign in',
    walk: async (world) => {
      const company = await foundSamlCompany(world, world.realm, {
        name: 'Tested',
        domain: 'tested.example',
      });
      await addPerson(world, 'ada@tested.example');
      const { url } = await company.owner.ask(
        200,
        'POST',
        `${company.domain_path}/test_sign_in/`,
        {},
      );
      const { end, text, ask } = await visit(
        world,
        url.slice(world.address.length),
        usernameOf('ada@tested.example'),
      );
      assert.equal(end, 'page', text);
      assert.match(text, /The test was successful[\s\S]*ada@tested\.example[\s\S]*Ada/);
      await ask(401, 'GET', '/api/users/@me/');
    },
  },
  {
    name: 'SAML: somebody new joins just in time, and comes back to the same account',
    walk: async (world) => {
      const company = await foundSamlCompany(world, world.realm, {
        name: 'Joined',
        domain: 'joined.example',
        jit_provisioning_enabled: true,
      });
      const email = 'ada@joined.example';
      await addPerson(world, email);
      const account = await signedIn(await visitBySaml(world, email));
      assert.deepEqual(
        [account['email'], account['first_name'], account['last_name']],
        [email, 'Ada', 'Lovelace'],
      );
      assert.equal((await membersOf(company))[email], 1);
      assert.equal((await signedIn(await visitBySaml(world, email)))['uuid'], account['uuid']);
    },
  },
  {
    name: 'SAML: Keycloak changes its key without a gap',
    walk: async (world) => {
      const company = await foundSamlCompany(world, world.realm, {
        name: 'Gapless',
        domain: 'gapless.example',
        jit_provisioning_enabled: true,
      });
      const email = 'ada@gapless.example';
      await addPerson(world, email);
      const count = async () =>
        (await world.realm.samlFields()).saml_x509_cert.split('BEGIN').length;
      const before = await count();
      const key = await world.realm.addKey({ is_active: false });
      assert.equal(await count(), before + 1);
      await company.owner.ask(
        200,
        'PATCH',
        `${company.domain_path}/`,
        await world.realm.samlFields(),
      );
      await signedIn(await visitBySaml(world, email));
      await world.realm.activateKey(key);
      await signedIn(await visitBySaml(world, email));
    },
  },
  {
    name: 'SAML: a member keeps the account, and enforcement leaves no password',
    walk: async (world) => {
      const company = await foundSamlCompany(world, world.realm, {
        name: 'Enforced',
        domain: 'enforced.example',
      });
      const email = 'grace@enforced.example';
      const member = await invite(world, company, email, 8);
      await proveAddress(world, member);
      const { uuid } = await member.ask(200, 'GET', '/api/users/@me/');
      await addPerson(world, email);
      assert.equal((await signedIn(await visitBySaml(world, email)))['uuid'], uuid);
      await company.owner.ask(200, 'PATCH', `${company.domain_path}/`, {
        sso_enforcement: 'saml',
      });
      const refused = await world.anybody(400, 'POST', '/api/sessions/', { email, password: 'x' });
      assert.equal(refused['code'], 'sso_enforced');
      assert.equal((await signedIn(await visitBySaml(world, email)))['uuid'], uuid);
    },
  },
];
