import { NewSchemaColumn } from '../../schema_columns/schema.ts';
import { listFilledColumns } from '../../schema_columns/store.ts';
import { plain_kind } from './kind.ts';
import type { Kind } from './kind.ts';

/**
 * Columns of a project's schema. A column never changes: another type is another column, under
 * another key. Removed columns are left out.
 */
export const schema_column: Kind = {
  ...plain_kind,
  name: 'schema_column',
  section: 'schema_columns',
  parent: 'project',
  right: 'batch_export',
  listUrl: ({ parent_id }) => `/api/projects/${parent_id}/schema_columns/`,
  schema: NewSchemaColumn,
  fixed: Object.keys(NewSchemaColumn.properties),
  defaults: { source: 'event' },
  read: async ({ db, organization_id }) =>
    (await listFilledColumns(db, organization_id)).map(({ id, team_id, ...fields }) => ({
      id,
      parent_id: String(team_id),
      name: fields.property,
      fields,
      secrets: {},
    })),
};
