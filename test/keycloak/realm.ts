import assert from 'node:assert/strict';
import type { Keycloak } from './keycloak_server.ts';

/** The password of everyone in a realm. */
export const realm_password = 'the same for all in a realm';

/** A person of a realm, as its admin API describes them. */
export type RealmPerson = {
  username: string;
  email: string;
  emailVerified?: boolean;
  firstName?: string;
  lastName?: string;
  enabled?: boolean;
};

/** A realm of Keycloak: the identity provider of one company. */
export type Realm = {
  name: string;
  /** Its issuer in OpenID Connect, and its entity id in SAML. */
  issuer: string;
  /** Adds a person who signs in with `realm_password`; returns their id. */
  addPerson(person: RealmPerson): Promise<string>;
  changePerson(id: string, change: Partial<RealmPerson>): Promise<void>;
  removePerson(id: string): Promise<void>;
  /** Adds a group with these people; returns its id. */
  addGroup(name: string, people: string[]): Promise<string>;
  /**
   * Creates a SAML client from our metadata (XML), as "Import client" does; it also sends the
   * names.
   */
  importClient(metadata: string): Promise<void>;
  /** Returns the address of a sign-in at this client that Keycloak starts. */
  startAtKeycloak(entity_id: string): Promise<string>;
  /** Creates or changes an OpenID Connect client. */
  setOpenidClient(client: { id: string; secret: string; redirect_uri: string }): Promise<void>;
  /**
   * Returns the three fields of a domain, from the metadata that it publishes, with all of its
   * certificates.
   */
  samlFields(): Promise<Record<'saml_entity_id' | 'saml_acs_url' | 'saml_x509_cert', string>>;
  /** Adds a key, which signs at once or after its activation; returns its id. */
  addKey(key: { is_active: boolean }): Promise<string>;
  activateKey(id: string): Promise<void>;
};

/** The mapper that Keycloak's console offers as "Add predefined mapper". */
const mappers = ['X500 email', 'X500 givenName', 'X500 surname'];

/** Creates a realm without people. */
export async function createRealm(keycloak: Keycloak, name: string): Promise<Realm> {
  const admin = (method: string, path: string, body?: unknown) =>
    keycloak.admin(method, `/realms/${name}${path}`, body);
  await keycloak.admin('POST', '/realms', { realm: name, enabled: true });
  const issuer = `${keycloak.url}/realms/${name}`;
  return {
    name,
    issuer,
    ...peopleOf(admin),
    ...clientsOf(admin, keycloak),
    startAtKeycloak: async (entity_id) => {
      const [client] = await admin('GET', `/clients?clientId=${encodeURIComponent(entity_id)}`);
      const attributes = { ...client.attributes, saml_idp_initiated_sso_url_name: client.id };
      await admin('PUT', `/clients/${client.id}`, { ...client, attributes });
      return `${issuer}/protocol/saml/clients/${client.id}`;
    },
    samlFields: () => samlFieldsOf(issuer),
    ...keysOf(admin),
  };
}

type Admin = (method: string, path: string, body?: unknown) => Promise<any>;

function peopleOf(
  admin: Admin,
): Pick<Realm, 'addPerson' | 'changePerson' | 'removePerson' | 'addGroup'> {
  return {
    addPerson: async (person) => {
      await admin('POST', '/users', {
        emailVerified: true,
        enabled: true,
        firstName: 'Ada',
        lastName: 'Lovelace',
        ...person,
        credentials: [{ type: 'password', value: realm_password, temporary: false }],
      });
      const [{ id }] = await admin('GET', `/users?exact=true&username=${person.username}`);
      return id;
    },
    changePerson: async (id, change) =>
      admin('PUT', `/users/${id}`, { ...(await admin('GET', `/users/${id}`)), ...change }),
    removePerson: (id) => admin('DELETE', `/users/${id}`),
    addGroup: async (name, people) => {
      await admin('POST', '/groups', { name });
      const [{ id }] = await admin('GET', `/groups?exact=true&search=${name}`);
      for (const person of people) await admin('PUT', `/users/${person}/groups/${id}`);
      return id;
    },
  };
}

function keysOf(admin: Admin): Pick<Realm, 'addKey' | 'activateKey'> {
  const type = 'org.keycloak.keys.KeyProvider';
  return {
    addKey: async ({ is_active }) => {
      const name = `rsa of ${Date.now()}`;
      await admin('POST', '/components', {
        name,
        providerId: 'rsa-generated',
        providerType: type,
        config: { priority: [`${Date.now()}`], enabled: ['true'], active: [`${is_active}`] },
      });
      const [{ id }] = await admin('GET', `/components?type=${type}&name=${name}`);
      return id;
    },
    activateKey: async (id) => {
      const key = await admin('GET', `/components/${id}`);
      const config = { ...key.config, active: ['true'] };
      await admin('PUT', `/components/${id}`, { ...key, config });
    },
  };
}

function clientsOf(
  admin: Admin,
  keycloak: Keycloak,
): Pick<Realm, 'importClient' | 'setOpenidClient'> {
  return {
    importClient: async (metadata) => {
      const client = await admin('POST', '/client-description-converter', metadata);
      const { builtinProtocolMappers } = await keycloak.admin('GET', '/serverinfo');
      const protocolMappers = builtinProtocolMappers.saml.filter(({ name }: { name: string }) =>
        mappers.includes(name),
      );
      assert.equal(protocolMappers.length, mappers.length);
      await admin('POST', '/clients', {
        ...client,
        // By default, Keycloak requires signed requests of new clients, whatever their metadata
        // says.
        attributes: { ...client.attributes, 'saml.client.signature': 'false' },
        protocolMappers,
      });
    },
    setOpenidClient: async ({ id, secret, redirect_uri }) => {
      const [known] = await admin('GET', `/clients?clientId=${id}`);
      await admin(
        known === undefined ? 'POST' : 'PUT',
        known === undefined ? '/clients' : `/clients/${known.id}`,
        {
          ...known,
          clientId: id,
          secret,
          redirectUris: [redirect_uri],
          publicClient: false,
          attributes: { 'pkce.code.challenge.method': 'S256' },
        },
      );
    },
  };
}

async function samlFieldsOf(issuer: string): ReturnType<Realm['samlFields']> {
  const metadata = await (await fetch(`${issuer}/protocol/saml/descriptor`)).text();
  const found = (pattern: RegExp) => [...metadata.matchAll(pattern)].map(([, text = '']) => text);
  const [saml_entity_id = ''] = found(/entityID="([^"]+)"/g);
  const [saml_acs_url = ''] = found(
    /<md:SingleSignOnService [^>]*HTTP-Redirect" Location="([^"]+)"/g,
  );
  const certificates = found(/<ds:X509Certificate>([^<]+)</g);
  assert.ok(saml_acs_url !== '' && certificates.length > 0, metadata);
  const saml_x509_cert = certificates
    .map((text) => `-----BEGIN CERTIFICATE-----\n${text}\n-----END CERTIFICATE-----\n`)
    .join('');
  return { saml_entity_id, saml_acs_url, saml_x509_cert };
}
