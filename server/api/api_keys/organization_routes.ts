import type { FastifyInstance } from 'fastify';
import type { Deps } from '../../deps.ts';
import { PageQuery, answerPage, pageOf } from '../../platform/http/lists/pagination.ts';
import { OrganizationApiKey } from './schema.ts';
import type { OrganizationApiKeyRow } from './schema.ts';
import { listReachingKeys } from './store.ts';

/** Registers the list of the keys that open an organization. */
export function organizationKeyRoutes(app: FastifyInstance, { db, clock }: Deps): void {
  app.get(
    '/api/organizations/:organization_id/personal_api_keys/',
    {
      config: { scope: 'organization_member:read', within: 'organization', level: 8 },
      schema: {
        summary: 'List the keys of members that open the organization, newest first',
        description:
          'For administrators. Keys that have expired, and keys that are limited to other ' +
          'organizations or projects, are left out. A key can do at most what its owner may. To ' +
          'end all keys of a person here, remove the member.',
        querystring: PageQuery,
        response: { 200: pageOf(OrganizationApiKey) },
      },
    },
    (request) =>
      answerPage<OrganizationApiKeyRow>(
        request,
        db,
        listReachingKeys(request.access.organization_id, clock.now()),
      ),
  );
}
