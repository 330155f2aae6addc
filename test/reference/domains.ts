import { proofNameOf, proofOf } from '../factories/people/domains.ts';
import { openBrowser, password } from '../factories/people/people.ts';
import { testIdentityProvider } from '../saml/identity_provider.ts';
import { providerMetadata } from '../saml/provider_metadata.ts';
import { owner_address } from './world.ts';
import type { StoryWorld } from './world.ts';

/** A domain, from its claim to the sign-in of its people and the directory behind it. */
export async function tellDomains(world: StoryWorld): Promise<void> {
  const { ask, organization, resolver, harness, home } = world;
  const base = `${organization}domains/`;
  const domain = await ask('POST', base, { domain: 'acme.example' });
  const one = `${base}${domain.id}/`;
  resolver.set(proofNameOf(domain), { records: [proofOf(domain)] });
  await ask('POST', `${one}verify/`);
  await ask('GET', base);
  await ask('GET', one);
  const acme = testIdentityProvider('acme');
  const saml = {
    saml_entity_id: 'https://idp.acme.example/entity',
    saml_acs_url: 'https://idp.acme.example/sso',
    saml_x509_cert: acme.certificate.trim(),
  };
  const metadata = providerMetadata({
    entity_id: saml.saml_entity_id,
    url: saml.saml_acs_url,
    certificate: acme.certificate,
  });
  await ask('POST', `${base}provider_metadata/`, { metadata });
  await ask('PUT', one, { ...saml, jit_provisioning_enabled: false });
  await ask('PATCH', one, { jit_provisioning_enabled: true });
  await pending(world, one);
  const browser = openBrowser(harness);
  await browser.ask('POST', '/api/sessions/', { email: owner_address, password });
  await harness.request('GET', `/api/saml/metadata/?organization=${home.organization.id}`);
  await ask('POST', `${one}test_sign_in/`, undefined, { cookie: browser.cookie()! });
  await ask('GET', '/api/single_sign_on/?email=ada@acme.example', undefined, {});
  await setup(world, one, { metadata, ...saml });
  await directory(world, `${one}scim/`);
  await ask('DELETE', one);
  await security(world);
}

/** Changes of trust anchors by a key with few scopes wait for an owner. */
async function pending({ ask, harness, home }: StoryWorld, one: string): Promise<void> {
  const key = await harness.newKey(home.user, { scopes: ['organization:write'] });
  const limited = { authorization: `Bearer ${key}` };
  await ask('PATCH', one, { jit_provisioning_enabled: false }, limited);
  await ask('DELETE', `${one}pending_changes/`);
  await ask('PATCH', one, { jit_provisioning_enabled: false }, limited);
  const browser = openBrowser(harness);
  await browser.ask('POST', '/api/sessions/', { email: owner_address, password });
  await ask('POST', `${one}pending_changes/confirm/`, undefined, { cookie: browser.cookie()! });
}

/** A person without an account sets up single sign-on with a link. */
async function setup(
  { ask }: StoryWorld,
  one: string,
  { metadata, ...saml }: Record<string, string>,
): Promise<void> {
  const { url, id } = await ask('POST', `${one}setup_links/`, { name: 'Robin of Acme IT' });
  await ask('GET', `${one}setup_links/`);
  const token = url.split('#')[1];
  const behind = (name: string, body: object = {}) =>
    ask('POST', `/api/setup_links/${name}/`, { token, ...body }, {});
  await behind('open');
  await behind('verify');
  await behind('provider_metadata', { metadata });
  await behind('provider', saml);
  await behind('test_sign_in');
  await ask('DELETE', `${one}setup_links/${id}/`);
}

async function directory({ ask, harness }: StoryWorld, url: string): Promise<void> {
  const { id, token } = await ask('POST', `${url}tokens/`, { name: 'Okta' });
  await ask('GET', url);
  await ask('GET', `${url}tokens/`);
  await ask('GET', `${url}tokens/${id}/`);
  await ask('PATCH', url, { may_manage_owners: false });
  await ask('PUT', url, { may_manage_owners: false });
  const domain_id = url.split('/').at(-3)!;
  const group = await harness.request('POST', `/scim/v2/${domain_id}/Groups`, {
    key: token,
    body: { displayName: 'Data team' },
    headers: { 'content-type': 'application/scim+json' },
  });
  const one = `${url}groups/${group.body.id}/`;
  await ask('GET', one);
  await ask('PATCH', one, { level: 8 });
  await ask('PUT', one, { level: 1 });
  await ask('DELETE', `${url}tokens/${id}/`);
  await ask('DELETE', url);
}

async function security({ ask, organization }: StoryWorld): Promise<void> {
  const rules = `${organization}security/`;
  const read = await ask('GET', rules);
  await ask('PATCH', rules, { provider_is_second_factor: true });
  await ask('PUT', rules, read);
  await ask('GET', `${organization}security_events/?limit=2`);
}
