import { Type } from 'typebox';
import { loadPluginConfig } from '../../../engine/plugins/stored_config.ts';
import { mapInTurns } from '../../../platform/pacing/turns.ts';
import { PluginConfigPatch } from '../../plugin_configs/schema.ts';
import { listConfigSettings } from '../../plugin_configs/store.ts';
import { pick, plain_kind, recordUrl } from './kind.ts';
import type { Kind } from './kind.ts';

/** Plugin configs of projects. The plugin defines which values are secret. */
export const plugin_config: Kind = {
  ...plain_kind,
  name: 'plugin_config',
  section: 'plugin_configs',
  parent: 'project',
  right: 'plugin',
  listUrl: ({ parent_id }) => `/api/projects/${parent_id}/plugin_configs/`,
  schema: Type.Object({
    plugin: Type.Unsafe<string | number>({
      type: ['string', 'integer'],
      description: 'The key of a plugin, or the id of a plugin that another organization shares.',
    }),
    ...PluginConfigPatch.properties,
  }),
  fixed: ['plugin'],
  references: [
    {
      field: 'plugin',
      api_field: 'plugin',
      kind: 'plugin',
      within: 'organization',
      is_list: false,
    },
  ],
  defaults: { enabled: false, order: 0, config: {}, allowed_hosts: [], event_choice: null },
  maySealAt: (path) => path.startsWith('config.'),
  spelled: (fields) =>
    Array.isArray(fields['allowed_hosts'])
      ? {
          ...fields,
          allowed_hosts: [
            ...new Set(fields['allowed_hosts'].map((host) => String(host).toLowerCase())),
          ],
        }
      : fields,
  read: async ({ deps, db, organization_id }) =>
    mapInTurns(await listConfigSettings(db, organization_id), (row) => {
      const values = Object.entries(loadPluginConfig(deps.secrets, row.id, row));
      const hidden = values.filter(([key]) => row.secret_keys.includes(key));
      return {
        id: String(row.id),
        parent_id: String(row.team_id),
        name: row.name,
        fields: pick(row, [
          'plugin',
          'enabled',
          'order',
          'config',
          'allowed_hosts',
          'event_choice',
        ]),
        secrets: Object.fromEntries(hidden.map(([key, value]) => [`config.${key}`, value])),
      };
    }),
  change: (home, standing, { plugin: _fixed, ...body }) => [
    { method: 'PUT', url: recordUrl(plugin_config, home, standing), body },
  ],
};
