import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Deps } from '../../deps.ts';
import { body_size_bytes_max } from '../../platform/http/bodies/body.ts';
import { baseUrl } from './calling.ts';
import { scimDoor } from './door.ts';
import { group_schema } from './groups/groups.ts';
import { count_max, listAnswer } from './list_query.ts';
import { ScimRefused, scim_type } from './refusal.ts';
import { user_schema } from './users/user_resource.ts';

const core = 'urn:ietf:params:scim:schemas:core:2.0';
const base = '/scim/v2/:domain_id';

/** Routes of discovery for directories: the provider's configuration, types and schemas. */
export function discoveryRoutes(app: FastifyInstance, { config }: Deps): void {
  const locationOf = ({ directory }: FastifyRequest) => baseUrl(config, directory.domain_id);
  app.get(`${base}/ServiceProviderConfig`, scimDoor, async (request, reply) => {
    void reply.type(scim_type);
    return providerConfig(config, locationOf(request));
  });
  for (const [name, resources] of [
    ['ResourceTypes', resourceTypes],
    ['Schemas', schemas],
  ] as const) {
    app.get(`${base}/${name}`, scimDoor, async (request, reply) => {
      // RFC 7644, 4: a filtered list would look like the complete list.
      if ((request.query as Record<string, unknown>)['filter'] !== undefined)
        throw new ScimRefused(403, undefined, `${name} cannot be filtered: send no filter.`);
      void reply.type(scim_type);
      const all = resources(locationOf(request));
      return listAnswer(all.length, 1, all);
    });
    app.get(`${base}/${name}/:id`, scimDoor, async (request, reply) => {
      const { id } = request.params as { id: string };
      const found = resources(locationOf(request)).find((one) => one.id === id);
      if (found === undefined) throw new ScimRefused(404, undefined, `${name} has no ${id}.`);
      void reply.type(scim_type);
      return found;
    });
  }
}

function providerConfig({ public_url }: Deps['config'], location: string) {
  const no = { supported: false };
  return {
    schemas: [`${core}:ServiceProviderConfig`],
    documentationUri: `${public_url}/docs`,
    patch: { supported: true },
    bulk: { ...no, maxOperations: 0, maxPayloadSize: body_size_bytes_max },
    filter: { supported: true, maxResults: count_max },
    changePassword: no,
    sort: no,
    etag: no,
    authenticationSchemes: [
      {
        type: 'oauthbearertoken',
        name: 'Bearer token',
        description: 'The token of the directory, from the page of the domain.',
        primary: true,
      },
    ],
    meta: {
      resourceType: 'ServiceProviderConfig',
      location: `${location}/ServiceProviderConfig`,
    },
  };
}

function resourceTypes(location: string) {
  return (
    [
      ['User', user_schema],
      ['Group', group_schema],
    ] as const
  ).map(([id, schema]) => ({
    schemas: [`${core}:ResourceType`],
    id,
    name: id,
    endpoint: `/${id}s`,
    schema,
    meta: { resourceType: 'ResourceType', location: `${location}/ResourceTypes/${id}` },
  }));
}

/** Describes an attribute, with the usual characteristics by default. */
const attribute = (name: string, more: object = {}) => ({
  name,
  type: 'string',
  multiValued: false,
  description: '',
  required: false,
  caseExact: false,
  mutability: 'readWrite',
  returned: 'default',
  uniqueness: 'none',
  ...more,
});
const read_only = { mutability: 'readOnly' };
const immutable = { mutability: 'immutable' };
const complex = { type: 'complex', multiValued: true };
const value_of = (description: string) => attribute('value', { ...read_only, description });
const reference_to = (type: 'User' | 'Group', more: object) =>
  attribute('$ref', { ...more, type: 'reference', referenceTypes: [type], caseExact: true });
const type_of = (words: string[], more: object) =>
  attribute('type', { ...more, canonicalValues: words });

const external_id = attribute('externalId', { caseExact: true });
const user_attributes = [
  attribute('userName', {
    required: true,
    uniqueness: 'server',
    description: 'The address of the person; any other text where emails has their address.',
  }),
  external_id,
  attribute('name', {
    type: 'complex',
    subAttributes: [attribute('givenName'), attribute('familyName')],
  }),
  attribute('displayName', read_only),
  attribute('emails', {
    ...complex,
    ...read_only,
    description:
      'One value: the address of the account. If userName is not an address, Sluice uses ' +
      'this value.',
    subAttributes: [
      value_of('The address.'),
      type_of(['work'], read_only),
      attribute('primary', { ...read_only, type: 'boolean' }),
    ],
  }),
  attribute('active', {
    type: 'boolean',
    required: true,
    description: 'Whether they are a member; a new User without it is.',
  }),
  attribute('groups', {
    ...complex,
    ...read_only,
    subAttributes: [
      value_of('Id of the group.'),
      reference_to('Group', read_only),
      attribute('display', read_only),
      type_of(['direct'], read_only),
    ],
  }),
];
const group_attributes = [
  attribute('displayName', { required: true, uniqueness: 'server' }),
  external_id,
  attribute('members', {
    ...complex,
    subAttributes: [
      attribute('value', { ...immutable, description: 'Id of a User; otherwise $ref names them.' }),
      reference_to('User', immutable),
      attribute('display', read_only),
      type_of(['User'], immutable),
    ],
  }),
];

function schemas(location: string) {
  return (
    [
      ['User', user_schema, user_attributes],
      ['Group', group_schema, group_attributes],
    ] as const
  ).map(([name, id, attributes]) => ({
    schemas: [`${core}:Schema`],
    id,
    name,
    description: '',
    attributes,
    meta: { resourceType: 'Schema', location: `${location}/Schemas/${id}` },
  }));
}
