import { Type } from 'typebox';
import { WriteKeyCreate } from '../../write_keys/schema.ts';
import { listKeptWriteKeys } from '../../write_keys/store.ts';
import { plain_kind } from './kind.ts';
import type { Kind } from './kind.ts';

const list = (project_id: string) => `/api/projects/${project_id}/write_keys/`;

/** Write keys by their names; their values are the server's. One that was rolled is left out. */
export const write_key: Kind = {
  ...plain_kind,
  name: 'write_key',
  section: 'write_keys',
  parent: 'project',
  right: 'project',
  schema: Type.Object(WriteKeyCreate.properties),
  read: async ({ db, organization_id }) =>
    (await listKeptWriteKeys(db, organization_id)).map(({ id, team_id, name }) => ({
      id,
      parent_id: String(team_id),
      name,
      fields: { name },
      secrets: {},
    })),
  create: ({ parent_id }, body) => [{ method: 'POST', url: list(parent_id), body }],
  change: ({ parent_id }, { id }, body) => [
    { method: 'PATCH', url: `${list(parent_id)}${id}/`, body },
  ],
  remove: ({ parent_id }, { id }) => ({
    method: 'DELETE',
    url: `${list(parent_id)}${id}/`,
    body: {},
  }),
};
