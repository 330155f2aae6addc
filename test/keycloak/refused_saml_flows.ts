import assert from 'node:assert/strict';
import { askedBy } from './altered_request.ts';
import { foundCompany, foundSamlCompany, metadataOf } from './companies.ts';
import { assertRefused, signedIn } from './flow.ts';
import type { Flow } from './flow.ts';
import { addPerson, usernameOf, visit, visitBySaml } from './visit.ts';

function entityIdIn(metadata: string): string {
  return /entityID="([^"]+)"/.exec(metadata)![1]!;
}

/** Sign-ins by SAML that Keycloak or we refuse. */
export const refused_saml_flows: Flow[] = [
  {
    name: "SAML: a response for another organization's client is refused",
    walk: async (world) => {
      await foundSamlCompany(world, world.realm, {
        name: 'Meant',
        domain: 'meant.example',
        jit_provisioning_enabled: true,
      });
      const other = await foundCompany(world, { name: 'Other', owner: 'owner@other.example' });
      const metadata = await metadataOf(world, other);
      await world.realm.importClient(metadata);
      const entity_id = entityIdIn(metadata);
      const email = 'ada@meant.example';
      await addPerson(world, email);
      world.reasons();
      const misled = await visitBySaml(world, email, (url) => askedBy(url, entity_id));
      await assertRefused(world, misled, 'audience');
      await signedIn(await visitBySaml(world, email));
    },
  },
  {
    name: 'SAML: an address outside of the domain is refused',
    walk: async (world) => {
      await foundSamlCompany(world, world.realm, {
        name: 'Inside',
        domain: 'inside.example',
        jit_provisioning_enabled: true,
      });
      await addPerson(world, 'mallory@outside.example');
      world.reasons();
      const query = new URLSearchParams({ email: 'mallory@inside.example' }).toString();
      const came = await visit(
        world,
        `/login/saml/?${query}`,
        usernameOf('mallory@outside.example'),
      );
      await assertRefused(world, came, 'email_domain');
    },
  },
  {
    name: 'SAML: whom Keycloak has disabled does not come in, and comes in again afterwards',
    walk: async (world) => {
      await foundSamlCompany(world, world.realm, {
        name: 'Disabled',
        domain: 'disabled.example',
        jit_provisioning_enabled: true,
      });
      const email = 'ada@disabled.example';
      const id = await addPerson(world, email, { enabled: false });
      const { end, text, ask } = await visitBySaml(world, email);
      assert.deepEqual([end, /Account is disabled/.test(text)], ['keycloak', true], text);
      await ask(401, 'GET', '/api/users/@me/');
      await world.realm.changePerson(id, { enabled: true });
      await signedIn(await visitBySaml(world, email));
    },
  },
  {
    name: 'SAML: a new key of Keycloak signs nobody in until its certificate is entered',
    walk: async (world) => {
      const company = await foundSamlCompany(world, world.realm, {
        name: 'Rotated',
        domain: 'rotated.example',
        jit_provisioning_enabled: true,
      });
      const email = 'ada@rotated.example';
      await addPerson(world, email);
      await signedIn(await visitBySaml(world, email));
      await world.realm.addKey({ is_active: true });
      world.reasons();
      await assertRefused(world, await visitBySaml(world, email), 'signature');
      const fields = await world.realm.samlFields();
      await company.owner.ask(200, 'PATCH', `${company.domain_path}/`, fields);
      await signedIn(await visitBySaml(world, email));
    },
  },
  {
    name: 'SAML: a sign-in that begins at Keycloak is refused',
    walk: async (world) => {
      const company = await foundSamlCompany(world, world.realm, {
        name: 'Begun',
        domain: 'begun.example',
        jit_provisioning_enabled: true,
      });
      const email = 'ada@begun.example';
      await addPerson(world, email);
      const start = await world.realm.startAtKeycloak(entityIdIn(await metadataOf(world, company)));
      world.reasons();
      await assertRefused(world, await visitBySaml(world, email, () => start), 'in_response_to');
    },
  },
];
