import assert from 'node:assert/strict';
import { eventually } from '../eventually.ts';
import type { Realm } from './realm.ts';
import { asker } from './world.ts';
import type { Ask, World } from './world.ts';

/** The password of everyone who has one here. */
export const password = 'tidal lamp orchid crust';

/** A person who is signed in here, with a password. */
export type Person = { email: string; ask: Ask };

/** An organization and its owner. */
export type Company = {
  organization_id: string;
  /** `/api/organizations/<id>` */
  path: string;
  owner: Person;
};

/** A company with its own verified domain. */
export type DomainCompany = Company & { domain: string; domain_path: string };

/** Creates the owner's account by an invite; they have an organization to themselves. */
export async function foundCompany(
  world: World,
  { name, owner }: { name: string; owner: string },
): Promise<Company> {
  const { id } = await world.operator(201, 'POST', '/api/organizations/', { name });
  const path = `/api/organizations/${id}`;
  const company = { organization_id: id, path, owner: { email: '', ask: world.operator } };
  const person = await invite(world, company, owner, 15);
  await world.operator(204, 'DELETE', `${path}/members/@me/`);
  return { ...company, owner: person };
}

/** Lets a person accept an invite by its link and choose the password. */
export async function invite(
  world: World,
  { path, owner }: Company,
  email: string,
  level: 1 | 8 | 15,
): Promise<Person> {
  const invited = await owner.ask(201, 'POST', `${path}/invites/`, { target_email: email, level });
  const token = new URL(invited['link']).searchParams.get('token');
  // The account begins with a session.
  const ask = asker(world.address, {});
  await ask(201, 'POST', `/api/invites/${invited['id']}/accept/`, {
    token,
    password,
    first_name: 'Grace',
    last_name: 'Hopper',
  });
  return { email, ask };
}

/** Lets the person prove the address by the mailed link. */
export async function proveAddress(world: World, { email, ask }: Person): Promise<void> {
  await ask(202, 'POST', '/api/users/@me/verify_email/', {});
  const token = await linkIn(world, email, 'verify-email');
  await ask(200, 'POST', '/api/users/verify_email/', { token });
}

/** Returns the token of the latest mail to the address with a link of this kind. */
export async function linkIn(world: World, email: string, kind: string): Promise<string> {
  const pattern = new RegExp(`/${kind}/([\\w-]+)`);
  return eventually(`no mail with a link to ${kind} came to ${email}`, () =>
    world.mail.mails
      .filter(({ to }) => to.includes(email))
      .map(({ content }) => pattern.exec(content.text ?? '')?.[1])
      .findLast((token) => token !== undefined),
  );
}

/** Claims the domain, sets the record that proves it, and starts its look-up. */
async function proveDomain(world: World, company: Company, domain: string): Promise<DomainCompany> {
  const { ask } = company.owner;
  const claimed = await ask(201, 'POST', `${company.path}/domains/`, { domain });
  world.dns.set(`_sluice-challenge.${domain}`, {
    records: [{ type: 'TXT', strings: [claimed['verification_challenge']] }],
  });
  const domain_path = `${company.path}/domains/${claimed['id']}`;
  const verified = await ask(200, 'POST', `${domain_path}/verify/`, {});
  assert.equal(verified['is_verified'], true, JSON.stringify(verified));
  return { ...company, domain, domain_path };
}

/**
 * A company whose people sign in by SAML through a realm: the realm has our metadata, and the
 * domain the realm's fields. The owner's own address is elsewhere.
 */
export async function foundSamlCompany(
  world: World,
  realm: Realm,
  { name, domain, ...fields }: { name: string; domain: string } & Record<string, unknown>,
): Promise<DomainCompany> {
  const owner = `owner@${domain.replace('.example', '-founders.example')}`;
  const company = await proveDomain(world, await foundCompany(world, { name, owner }), domain);
  await realm.importClient(await metadataOf(world, company));
  await company.owner.ask(200, 'PATCH', `${company.domain_path}/`, {
    ...(await realm.samlFields()),
    ...fields,
  });
  return company;
}

/** A company whose people sign in only by the server's OpenID Connect provider. */
export async function foundOpenidCompany(
  world: World,
  name: string,
  domain: string,
): Promise<DomainCompany> {
  const owner = `owner@${domain.replace('.example', '-founders.example')}`;
  const company = await proveDomain(world, await foundCompany(world, { name, owner }), domain);
  await company.owner.ask(200, 'PATCH', `${company.domain_path}/`, {
    jit_provisioning_enabled: true,
    sso_enforcement: 'openid',
  });
  return company;
}

/** This server's SAML metadata for the company. */
export async function metadataOf(
  { address }: World,
  { organization_id }: Company,
): Promise<string> {
  const answer = await fetch(`${address}/api/saml/metadata/?organization=${organization_id}`);
  assert.equal(answer.status, 200);
  return answer.text();
}

/** The members of the company: addresses with their levels. */
export async function membersOf({ path, owner }: Company): Promise<Record<string, number>> {
  const { results } = await owner.ask(200, 'GET', `${path}/members/`);
  return Object.fromEntries(
    results.map((one: { user: { email: string }; level: number }) => [one.user.email, one.level]),
  );
}
