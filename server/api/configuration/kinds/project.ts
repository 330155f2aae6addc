import { Type } from 'typebox';
import { findOrganization } from '../../organizations/store.ts';
import { ProjectPut } from '../../projects/schema.ts';
import { pick, plain_kind } from './kind.ts';
import type { Kind } from './kind.ts';

const names = Object.keys(ProjectPut.properties);

/** Projects; what lies in them stands in their sections. */
export const project: Kind = {
  ...plain_kind,
  name: 'project',
  section: 'projects',
  parent: undefined,
  right: 'project',
  schema: Type.Object(ProjectPut.properties),
  defaults: { timezone: 'UTC' },
  read: async ({ db, organization_id }) => {
    const row = await findOrganization(db, organization_id, 1);
    return (row?.teams ?? []).map((one) => ({
      id: String(one.id),
      parent_id: '',
      name: one.name,
      fields: pick(one, names),
      secrets: {},
    }));
  },
  create: ({ organization_id }, fields) => [
    { method: 'POST', url: '/api/projects/', body: { ...fields, organization: organization_id } },
  ],
  change: (_home, { id }, body) => [{ method: 'PATCH', url: `/api/projects/${id}/`, body }],
  remove: (_home, { id }) => ({ method: 'DELETE', url: `/api/projects/${id}/`, body: {} }),
};
