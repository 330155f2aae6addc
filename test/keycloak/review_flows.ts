import assert from 'node:assert/strict';
import { codeOf } from '../factories/people/people.ts';
import { askedOf } from './altered_request.ts';
import {
  foundCompany,
  foundSamlCompany,
  invite,
  metadataOf,
  password,
  proveAddress,
} from './companies.ts';
import type { DomainCompany, Person } from './companies.ts';
import { assertRefused, assertTold, signedIn } from './flow.ts';
import type { Flow } from './flow.ts';
import { addPerson, visitBySaml } from './visit.ts';
import type { World } from './world.ts';

const confirm_session = '/api/sessions/@current/confirm/';
const keys = '/api/personal_api_keys/';

/** Adds a second factor to the account; the recovery codes work like its codes. */
async function setUpSecondFactor({ ask }: Person): Promise<string[]> {
  const { secret } = await ask(200, 'POST', '/api/users/@me/totp/', { current_password: password });
  const code = codeOf(secret, Date.now());
  return (await ask(200, 'POST', '/api/users/@me/totp/confirm/', { code }))['recovery_codes'];
}

/** Requests that a session may not make without the person's own factor. */
async function assertClosed(ask: Person['ask'], path: string): Promise<void> {
  for (const [method, url, body] of [
    ['GET', `${path}/`],
    ['GET', `${path}/members/`],
    ['POST', '/api/users/@me/email/', { email: 'mallory@elsewhere.example' }],
    ['POST', '/api/users/@me/totp/', {}],
    ['POST', '/api/organizations/', { name: 'Mine' }],
  ] as const)
    assert.equal((await ask(403, method, url, body))['code'], 'own_factor_required', url);
}

/** A stranger, or an administrator, with their own realm of Keycloak. */
export const review_flows: Flow[] = [
  {
    name: "P-00: a stranger's Keycloak opens no organization but the stranger's",
    walk: async (world) => {
      const [vera, walt] = ['vera@agency.example', 'walt@agency.example'];
      const victim = await foundCompany(world, { name: 'Victim', owner: vera });
      const [code] = await setUpSecondFactor(victim.owner);
      await victim.owner.ask(200, 'PATCH', `${victim.path}/`, { enforce_2fa: true });
      const neighbour = await foundCompany(world, { name: 'Neighbour', owner: walt });
      for (const { owner } of [victim, neighbour]) await proveAddress(world, owner);
      const stranger = await foundSamlCompany(world, world.stranger, {
        name: 'Stranger',
        domain: 'agency.example',
        jit_provisioning_enabled: true,
      });
      for (const email of [vera, walt]) await addPerson({ realm: world.stranger }, email);

      const as_vera = await visitBySaml(world, vera);
      assert.deepEqual((await signedIn(as_vera))['organizations'], []);
      await assertClosed(as_vera.ask, victim.path);
      await as_vera.ask(403, 'POST', keys, { label: 'stays', scopes: ['*'] });
      await assertTold(world, vera, /new way to sign in/);

      const as_walt = await visitBySaml(world, walt);
      const reached = (await signedIn(as_walt))['organizations'].map(({ id }: any) => id);
      assert.deepEqual(reached, [stranger.organization_id]);
      await assertClosed(as_walt.ask, neighbour.path);
      const key = await as_walt.ask(201, 'POST', keys, { label: 'stays', scopes: ['*'] });
      const with_key = world.asking({ authorization: `Bearer ${key['value']}` });
      await with_key(200, 'GET', `${stranger.path}/`);
      await with_key(404, 'GET', `${neighbour.path}/`);
      await assertTold(world, walt, /new way to sign in/);

      // The account's owner proves their own factor, and reaches everything.
      await as_vera.ask(200, 'POST', confirm_session, { password, code });
      await as_vera.ask(200, 'GET', `${victim.path}/members/`);
    },
  },
  {
    name: 'P-01: a certificate of an administrator or a limited key waits for an owner',
    walk: async (world) => {
      const company = await foundSamlCompany(world, world.realm, {
        name: 'Levels',
        domain: 'levels.example',
        jit_provisioning_enabled: true,
      });
      const email = 'boss@levels.example';
      await proveAddress(world, await invite(world, company, email, 15));
      const administrator = await invite(world, company, 'administrator@levels.example', 8);
      for (const realm of [world.realm, world.stranger]) await addPerson({ realm }, email);
      await world.stranger.importClient(await metadataOf(world, company));
      const own = await world.stranger.samlFields();
      const key = await company.owner.ask(201, 'POST', keys, {
        label: 'settings',
        scopes: ['organization:write'],
      });
      const with_key = world.asking({ authorization: `Bearer ${key['value']}` });
      for (const ask of [administrator.ask, with_key]) {
        const waiting = await ask(200, 'PATCH', `${company.domain_path}/`, own);
        assert.equal(waiting['pending_changes'].saml_entity_id, own.saml_entity_id);
        await assertStandsAsBefore(world, company, email, own.saml_acs_url);
        await ask(403, 'POST', `${company.domain_path}/pending_changes/confirm/`, {});
      }
      await assertTold(world, company.owner.email, /waits for you/);
      await assertTold(world, email, /waits for you/);

      // The owner's own session by the provider does not suffice either, without their factor.
      const by_provider = await visitBySaml(world, email);
      const confirm = `${company.domain_path}/pending_changes/confirm/`;
      const refused = await by_provider.ask(403, 'POST', confirm, {});
      assert.equal(refused['code'], 'own_factor_required');
      const confirmed = await company.owner.ask(200, 'POST', confirm, {});
      assert.equal(confirmed['saml_entity_id'], own.saml_entity_id);
      await signedIn(await visitBySaml(world, email));
    },
  },
];

/** The former provider signs in, and the other realm's answer does not. */
async function assertStandsAsBefore(
  world: World,
  { owner, domain_path }: DomainCompany,
  email: string,
  other_sso_url: string,
): Promise<void> {
  const { saml_entity_id } = await owner.ask(200, 'GET', `${domain_path}/`);
  assert.equal(saml_entity_id, world.realm.issuer);
  await signedIn(await visitBySaml(world, email));
  world.reasons();
  const misled = await visitBySaml(world, email, (url) => askedOf(url, other_sso_url));
  await assertRefused(world, misled, 'issuer');
}
