import assert from 'node:assert/strict';
import { foundSamlCompany, invite, membersOf, password, proveAddress } from './companies.ts';
import { assertRefused, signedIn } from './flow.ts';
import type { Flow } from './flow.ts';
import { openDirectory } from './scim_mirror.ts';
import { addPerson, visitBySaml } from './visit.ts';

const keys = '/api/personal_api_keys/';

/**
 * Flows in which a directory does what its creator may not, and meets people whom it deactivated.
 */
export const directory_review_flows: Flow[] = [
  {
    name: 'P-02: only an owner creates a token, and it ends with the right to have created it',
    walk: async (world) => {
      const domain = 'tokens.example';
      const company = await foundSamlCompany(world, world.realm, { name: 'Tokens', domain });
      const administrator = await invite(world, company, `administrator@${domain}`, 8);
      const maker = await invite(world, company, `maker@${domain}`, 15);
      const key = await company.owner.ask(201, 'POST', keys, {
        label: 'people',
        scopes: ['organization:write', 'organization_member:write'],
      });
      const with_key = world.asking({ authorization: `Bearer ${key['value']}` });
      for (const ask of [administrator.ask, with_key])
        await ask(403, 'POST', `${company.domain_path}/scim/tokens/`, { name: 'mine' });
      const mirrored = await openDirectory(world, company, maker);
      await addPerson(world, `ada@${domain}`);
      assert.deepEqual((await mirrored()).created, [`ada@${domain}`]);
      const { uuid } = await maker.ask(200, 'GET', '/api/users/@me/');
      await company.owner.ask(200, 'PATCH', `${company.path}/members/${uuid}/`, { level: 8 });
      await assert.rejects(mirrored(), /its creator is no longer an owner/);
    },
  },
  {
    name: 'P-02: a directory takes no owner out, unless an owner allows it',
    walk: async (world) => {
      const domain = 'owners.example';
      const company = await foundSamlCompany(world, world.realm, { name: 'Owners', domain });
      const email = `boss@${domain}`;
      await invite(world, company, email, 15);
      const id = await addPerson(world, email);
      const mirrored = await openDirectory(world, company);
      assert.deepEqual((await mirrored()).changed, [email]);
      await world.realm.changePerson(id, { enabled: false });
      await assert.rejects(mirrored(), /is an owner of the organization/);
      assert.equal((await membersOf(company))[email], 15);
      await company.owner.ask(200, 'PATCH', `${company.domain_path}/scim/`, {
        may_manage_owners: true,
      });
      await mirrored();
      assert.equal((await membersOf(company))[email], undefined);
      await world.realm.changePerson(id, { enabled: true });
      await mirrored();
      assert.equal((await membersOf(company))[email], 15);
    },
  },
  {
    name: 'P-04: whom the directory has closed stays out, also with an organization of their own',
    walk: async (world) => {
      const domain = 'closed.example';
      const company = await foundSamlCompany(world, world.realm, {
        name: 'Closed',
        domain,
        jit_provisioning_enabled: true,
      });
      const email = `eve@${domain}`;
      const eve = await invite(world, company, email, 1);
      await proveAddress(world, eve);
      const own = await eve.ask(201, 'POST', '/api/organizations/', { name: 'Own' });
      const key = await eve.ask(201, 'POST', keys, { label: 'stays', scopes: ['*'] });
      const id = await addPerson(world, email);
      const mirrored = await openDirectory(world, company);
      await mirrored();
      await world.realm.changePerson(id, { enabled: false });
      assert.deepEqual((await mirrored()).changed, [email]);

      const { end, text } = await visitBySaml(world, email);
      assert.deepEqual([end, /Account is disabled/.test(text)], ['keycloak', true], text);
      const sign_in = { email, password };
      const refused = await world.anybody(403, 'POST', '/api/sessions/', sign_in);
      assert.match(refused['detail'], /directory of your company has deactivated you/);
      await eve.ask(401, 'GET', '/api/users/@me/');
      // The earlier key is left to the person's own organization, and gains no rights.
      const with_key = world.asking({ authorization: `Bearer ${key['value']}` });
      await with_key(200, 'GET', `/api/organizations/${own['id']}/`);
      await with_key(404, 'GET', `${company.path}/`);
      await with_key(403, 'POST', '/api/organizations/', { name: 'Another' });
      await with_key(403, 'POST', `/api/organizations/${own['id']}/invites/`, {
        target_email: 'colleague@elsewhere.example',
      });

      // Keycloak signs them in again before the directory reactivates them.
      await world.realm.changePerson(id, { enabled: true });
      world.reasons();
      await assertRefused(world, await visitBySaml(world, email), 'deactivated');
      assert.deepEqual((await mirrored()).changed, [email]);
      await signedIn(await visitBySaml(world, email));
      await world.anybody(201, 'POST', '/api/sessions/', sign_in);
    },
  },
];
