import assert from 'node:assert/strict';
import { foundSamlCompany, membersOf } from './companies.ts';
import { signedIn } from './flow.ts';
import type { Flow } from './flow.ts';
import { openDirectory } from './scim_mirror.ts';
import { addPerson, visitBySaml } from './visit.ts';

/** People and groups of a realm, which a SCIM client mirrors. */
export const directory_flows: Flow[] = [
  {
    name: 'SCIM: people of the realm become members, are closed, come back and are removed',
    walk: async (world) => {
      const domain = 'mirrored.example';
      const company = await foundSamlCompany(world, world.realm, { name: 'Mirrored', domain });
      const mirrored = await openDirectory(world, company);
      const [ada, ben] = [`ada@${domain}`, `ben@${domain}`];
      const ids = { ada: await addPerson(world, ada), ben: await addPerson(world, ben) };
      assert.deepEqual(await mirrored(), { created: [ada, ben], changed: [], removed: [] });
      const owner = { [company.owner.email]: 15 };
      assert.deepEqual(await membersOf(company), { ...owner, [ada]: 1, [ben]: 1 });
      assert.deepEqual(await mirrored(), { created: [], changed: [], removed: [] });

      const visited = await visitBySaml(world, ada);
      assert.equal((await signedIn(visited))['organizations'].length, 1);
      await world.realm.changePerson(ids.ada, { enabled: false });
      assert.deepEqual((await mirrored()).changed, [ada]);
      assert.deepEqual(await membersOf(company), { ...owner, [ben]: 1 });
      await visited.ask(401, 'GET', '/api/users/@me/');
      await world.realm.changePerson(ids.ada, { enabled: true, lastName: 'Byron' });
      // The library sends names by PUT, and with it `active`.
      assert.deepEqual((await mirrored()).changed, [ada]);
      assert.equal((await signedIn(await visitBySaml(world, ada)))['last_name'], 'Byron');

      await world.realm.removePerson(ids.ben);
      assert.deepEqual((await mirrored()).removed, [ben]);
      assert.deepEqual(await membersOf(company), { ...owner, [ada]: 1 });
    },
  },
  {
    name: 'SCIM: a group of the realm makes administrators',
    walk: async (world) => {
      const domain = 'grouped.example';
      const company = await foundSamlCompany(world, world.realm, { name: 'Grouped', domain });
      const mirrored = await openDirectory(world, company);
      const [ada, ben] = [`ada@${domain}`, `ben@${domain}`];
      const ids = [await addPerson(world, ada), await addPerson(world, ben)];
      await world.realm.addGroup('administrators', [ids[0]!]);
      assert.deepEqual((await mirrored()).created, [ada, ben, 'administrators']);
      const scim = `${company.domain_path}/scim`;
      const { groups } = await company.owner.ask(200, 'GET', `${scim}/`);
      await company.owner.ask(200, 'PATCH', `${scim}/groups/${groups[0].id}/`, { level: 8 });
      const owner = { [company.owner.email]: 15 };
      assert.deepEqual(await membersOf(company), { ...owner, [ada]: 8, [ben]: 1 });
    },
  },
];
