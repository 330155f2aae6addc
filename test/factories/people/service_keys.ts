import { service_scopes } from '../../../server/api/service_keys/schema.ts';
import type { ServiceKeyFields } from '../../../server/api/service_keys/schema.ts';
import { insertServiceKey } from '../../../server/api/service_keys/store.ts';
import type { Harness, TestOrganization } from '../../harness.ts';

/** Creates a service key of the organization, by default with every possible scope. */
export async function newServiceKey(
  { deps }: Pick<Harness, 'deps'>,
  { organization, user }: Pick<TestOrganization, 'organization' | 'user'>,
  fields: Partial<ServiceKeyFields> = {},
): Promise<string> {
  const { value } = await insertServiceKey(deps.db, deps.secrets, {
    name: 'Loader',
    scopes: service_scopes,
    ...fields,
    organization_id: organization.id,
    created_by: user.id,
  });
  return value;
}
