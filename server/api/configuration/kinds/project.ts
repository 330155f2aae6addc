import { Type } from 'typebox';
import { ProjectCreate, ProjectPut } from '../../projects/schema.ts';
import { listProjectsOf } from '../../projects/store.ts';
import { pick, plain_kind } from './kind.ts';
import type { Kind, Request } from './kind.ts';

const names = Object.keys(ProjectPut.properties);
const first_names = Object.keys(ProjectCreate.properties);

/** Projects; their content is in their sections. */
export const project: Kind = {
  ...plain_kind,
  name: 'project',
  section: 'projects',
  parent: undefined,
  right: 'project',
  listUrl: () => '/api/projects/',
  schema: Type.Object(ProjectPut.properties),
  defaults: {
    timezone: 'UTC',
    robot_events: 'keep',
    internal_events: 'keep',
    internal_addresses: [],
    unplanned_events: 'allow',
    fill_device_properties: false,
    retention: 'forever',
    retention_days: 30,
  },
  read: async ({ db, organization_id }) =>
    (await listProjectsOf(db, organization_id)).map((one) => ({
      id: String(one.id),
      parent_id: '',
      name: one.name,
      fields: pick(one, names),
      secrets: {},
    })),
  create: ({ organization_id }, fields) => {
    // Creating a project accepts few fields; the others are set afterwards.
    const later = names.filter((name) => name in fields && !first_names.includes(name));
    const body = { ...pick(fields, first_names), organization: organization_id };
    const post: Request = { method: 'POST', url: '/api/projects/', body };
    if (later.length === 0) return [post];
    return [post, { method: 'PATCH', url: '/api/projects/:id/', body: pick(fields, later) }];
  },
};
