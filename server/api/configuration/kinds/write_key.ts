import { Type } from 'typebox';
import { WriteKeyCreate } from '../../write_keys/schema.ts';
import { listKeptWriteKeys } from '../../write_keys/store.ts';
import { plain_kind } from './kind.ts';
import type { Kind } from './kind.ts';

/** Write keys by their names; the server creates their values. Rotated keys are left out. */
export const write_key: Kind = {
  ...plain_kind,
  name: 'write_key',
  section: 'write_keys',
  parent: 'project',
  right: 'project',
  listUrl: ({ parent_id }) => `/api/projects/${parent_id}/write_keys/`,
  schema: Type.Object(WriteKeyCreate.properties),
  read: async ({ db, organization_id }) =>
    (await listKeptWriteKeys(db, organization_id)).map(({ id, team_id, name }) => ({
      id,
      parent_id: String(team_id),
      name,
      fields: { name },
      secrets: {},
    })),
};
