import type { FastifyInstance } from 'fastify';
import type { Deps } from '../../deps.ts';
import { admitDirectory } from './calling.ts';
import { discoveryRoutes } from './discovery.ts';
import { scimDoor } from './door.ts';
import { groupRoutes } from './groups/groups.ts';
import { managementRoutes } from './management.ts';
import { ScimRefused, tellRefusal } from './refusal.ts';
import { searchRoutes } from './search.ts';
import { userRoutes } from './users/users.ts';

/**
 * Routes of `/scim/v2/:domain_id/` for a domain's directory by SCIM 2.0 (RFC 7643, 7644), and of
 * `/api/organizations/:organization_id/domains/:id/scim/` for people who manage it.
 */
export function scimRoutes(app: FastifyInstance, deps: Deps): void {
  managementRoutes(app, deps);
  // A Fastify instance of its own, because authentication and errors differ here.
  void app.register(async (instance) => {
    instance.decorateRequest('directory');
    instance.setErrorHandler((error, request, reply) => tellRefusal(deps, error, request, reply));
    instance.addHook('onRequest', (request, reply) => admitDirectory(deps, request, reply));
    discoveryRoutes(instance, deps);
    userRoutes(instance, deps);
    groupRoutes(instance, deps);
    searchRoutes(instance, deps);
    nothingElse(instance);
  });
}

/** Answers unknown paths in SCIM's form. */
function nothingElse(instance: FastifyInstance): void {
  instance.route({
    ...scimDoor,
    method: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'],
    url: '/scim/v2/:domain_id/*',
    handler: async ({ method, params }) => {
      const { '*': path } = params as { '*': string };
      throw notOffered(`${method} of ${path.slice(0, 100)}`, path);
    },
  });
}

function notOffered(asked: string, path: string): ScimRefused {
  if (/^(Bulk|Me)$/.test(path))
    return new ScimRefused(
      501,
      undefined,
      `This server does not support ${asked}: read or list Users and Groups.`,
    );
  const help = path.startsWith('/')
    ? 'the base URL has a slash at its end, enter it without.'
    : 'there are Users, Groups, ServiceProviderConfig, ResourceTypes and Schemas.';
  return new ScimRefused(404, undefined, `There is no ${asked}: ${help}`);
}
