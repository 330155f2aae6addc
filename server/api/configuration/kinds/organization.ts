import { OrganizationCreate } from '../../organizations/schema.ts';
import { findOrganization } from '../../organizations/store.ts';
import { pick, plain_kind } from './kind.ts';
import type { Kind } from './kind.ts';

const names = Object.keys(OrganizationCreate.properties);

/** The settings of the organization. It always exists, and no configuration deletes it. */
export const organization: Kind = {
  ...plain_kind,
  name: 'organization',
  section: 'organization',
  parent: undefined,
  right: 'organization',
  is_single: true,
  listUrl: () => '/api/organizations/',
  schema: OrganizationCreate,
  defaults: { is_member_join_email_enabled: true, enforce_2fa: null, forbids_agent_writes: false },
  read: async ({ db, organization_id }) => {
    const row = await findOrganization(db, organization_id, 1);
    if (row === undefined) return [];
    const fields = pick(row, names);
    return [{ id: row.id, parent_id: '', name: row.name, fields, secrets: {} }];
  },
  create: () => [],
};
