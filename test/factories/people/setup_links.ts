import assert from 'node:assert/strict';
import type { DomainRow } from '../../../server/api/domains/schema.ts';
import type { Answer, Harness, TestOrganization } from '../../harness.ts';
import { testIdentityProvider } from '../../saml/identity_provider.ts';
import { domainsPath, proofNameOf, proofOf } from './domains.ts';
import type { DomainWorld } from './domains.ts';

/** A link in the answer that created it. */
export type CreatedLink = Record<string, any> & { id: string; url: string };

/** An organization with a claimed domain, and its owner's browser. */
export type LinkHome = {
  home: TestOrganization;
  domain: DomainRow;
  cookie: string;
  /** The path of the links of the domain. */
  links: string;
  ask(method: string, path: string, body?: unknown): Promise<Answer>;
  create(body?: object): Promise<Answer>;
  newLink(): Promise<CreatedLink>;
};

/** The fields of a provider. */
export const provider = () => ({
  saml_entity_id: 'https://idp.example/entity',
  saml_acs_url: 'https://idp.example/sso',
  saml_x509_cert: testIdentityProvider('acme').certificate.trim(),
});

type Sent = { headers?: Record<string, string>; key?: string };

/** Sends a request of the page behind a link; `url` is the link. */
export function through(
  harness: Harness,
  url: string,
  name: string,
  body: object = {},
  sent: Sent = {},
): Promise<Answer> {
  const token = url.split('#')[1];
  return harness.request('POST', `/api/setup_links/${name}/`, {
    ...sent,
    body: { token, ...body },
  });
}

/** Creates an organization with a claimed domain, and signs its owner in. */
export async function newLinkHome({ harness, claim }: DomainWorld): Promise<LinkHome> {
  const home = await harness.newOrganization({ name: 'Acme' });
  const domain = await claim(home);
  const cookie = await harness.newSession(home.user);
  const links = `${domainsPath(home, domain)}setup_links/`;
  const ask: LinkHome['ask'] = (method, path, body) =>
    harness.request(method, path, { headers: { cookie }, body });
  const create = (body: object = { name: 'Robin of Acme IT' }) => ask('POST', links, body);
  const newLink = async (): Promise<CreatedLink> => {
    const { status, body: link, text } = await create();
    assert.equal(status, 201, text);
    return link;
  };
  return { home, domain, cookie, links, ask, create, newLink };
}

/** Publishes the record that proves the domain. */
export function publishProof({ resolvers }: DomainWorld, domain: DomainRow): void {
  resolvers[0]!.set(proofNameOf(domain), { records: [proofOf(domain)] });
}
