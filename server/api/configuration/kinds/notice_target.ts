import { Type } from 'typebox';
import { secretContext } from '../../../engine/notices/outbox.ts';
import { notice_events } from '../../../engine/notices/notice.ts';
import { urlContext } from '../../../engine/notices/webhook_url.ts';
import { nullable } from '../../../platform/nullable.ts';
import { NoticeTargetCreate } from '../../notice_targets/schema.ts';
import { listTargetSettings } from '../../notice_targets/store.ts';
import { pick, plain_kind } from './kind.ts';
import type { Kind } from './kind.ts';

const { team_id: _place, batch_export_ids: _ids, ...properties } = NoticeTargetCreate.properties;

/** Notice targets. The whole address of a webhook is secret, because many contain a token. */
export const notice_target: Kind = {
  ...plain_kind,
  name: 'notice_target',
  section: 'notice_targets',
  parent: 'project',
  right: 'batch_export',
  listUrl: ({ parent_id }) => `/api/projects/${parent_id}/notice_targets/`,
  schema: Type.Object({
    ...properties,
    batch_exports: Type.Optional(
      nullable(
        Type.Array(Type.String(), {
          minItems: 1,
          maxItems: 100,
          description: 'Keys of exports of the project; null (default): all of them.',
        }),
      ),
    ),
  }),
  fixed: ['type'],
  references: [
    {
      field: 'batch_exports',
      api_field: 'batch_export_ids',
      kind: 'batch_export',
      within: 'project',
      is_list: true,
    },
  ],
  defaults: {
    name: null,
    address: null,
    events: notice_events,
    batch_exports: null,
    enabled: true,
  },
  secretPaths: () => ['url', 'secret'],
  read: async ({ deps, db, organization_id }) =>
    (await listTargetSettings(db, organization_id)).map((row) => ({
      id: row.id,
      parent_id: String(row.team_id),
      name: row.name ?? row.address ?? row.url,
      fields: pick(row, ['type', 'name', 'address', 'events', 'batch_export_ids', 'enabled']),
      secrets: {
        ...(row.url_sealed === null
          ? {}
          : { url: deps.secrets.open(row.url_sealed, urlContext(row.id)) }),
        ...(row.secret === null
          ? {}
          : { secret: deps.secrets.open(row.secret, secretContext(row.id)) }),
      },
    })),
  nameOf: ({ name, fields }) => `${String(fields['type'])} ${name ?? ''}`,
};
