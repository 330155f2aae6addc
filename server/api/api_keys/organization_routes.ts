import type { FastifyInstance } from 'fastify';
import type { Deps } from '../../deps.ts';
import { changesOf } from '../../platform/activity/changes.ts';
import { uuidParameter } from '../../platform/http/caller/access.ts';
import { missing } from '../../platform/http/errors.ts';
import { addList, addWrite } from '../../platform/http/records.ts';
import { findReachingGrant } from './agents/store.ts';
import { OrganizationApiKey } from './schema.ts';
import { listReachingKeys, lockOwner, takeOutOfKeys } from './store.ts';

const list = '/api/organizations/:organization_id/personal_api_keys/';

/** Routes that list the keys with access to an organization, and end a grant there. */
export function organizationKeyRoutes(app: FastifyInstance, { clock }: Deps): void {
  addList(app, {
    url: list,
    config: { scope: 'organization_member:read', within: 'organization', level: 8 },
    summary: 'List the keys of members with access to the organization, newest first',
    description:
      'For administrators. Expired keys, and keys limited to other organizations or ' +
      'projects, are left out. A key can do at most what its owner may do. To end all ' +
      'keys of a person here, remove the member.',
    answer: OrganizationApiKey,
    rows: (request) => listReachingKeys(request.access.organization_id, clock.now()),
  });

  addWrite(app, {
    method: 'DELETE',
    url: `${list}:id/`,
    config: { scope: 'organization_member:write', within: 'organization', level: 8 },
    summary: "Remove the organization from the access of a member's assistant",
    description:
      'For administrators. The grant ends if it gives access to nothing else. 404 for a key that ' +
      'no assistant has: to end such a key, remove the member.',
    response: { 204: { type: 'null' } },
    work: async ({ request, tx, record }) => {
      const { organization_id } = request.access;
      const id = uuidParameter(request, 'id');
      const known = (await findReachingGrant(tx, organization_id, id)) ?? missing();
      await lockOwner(tx, known.user_id);
      const { user_id, user_uuid, label } =
        (await findReachingGrant(tx, organization_id, id)) ?? missing();
      const is_deleted = (await takeOutOfKeys(tx, organization_id, user_id, id)) > 0;
      record({
        activity: is_deleted ? 'deleted' : 'updated',
        scope: 'personal_api_key',
        item_id: id,
        item_name: label,
        changes: changesOf({ opens: organization_id }, { opens: null }),
        also: [{ user_uuid }],
      });
    },
  });
}
