import { Type } from 'typebox';
import { PluginCreate } from '../../plugins/schema.ts';
import { findContent, listPluginSettings, pluginOriginContext } from '../../plugins/store.ts';
import type { PluginSource } from '../../plugins/schema.ts';
import type { PluginSettings } from '../../plugins/store.ts';
import { pick, plain_kind, recordUrl } from './kind.ts';
import type { Kind, Reading, Request, Standing } from './kind.ts';

const { name, description, icon, tag, is_global, url } = PluginCreate.properties;
/** What a plugin whose code is written here says of itself; of a package its plugin.json does. */
const written_fields = ['name', 'description', 'icon'];
const written_types = ['source', 'inline'];

/** Plugins of the organization, by their origin or with their code. */
export const plugin: Kind = {
  ...plain_kind,
  name: 'plugin',
  section: 'plugins',
  parent: undefined,
  right: 'plugin',
  listUrl: ({ organization_id }, { collection }) =>
    `/api/organizations/${organization_id}/${String(collection)}/`,
  schema: Type.Object({
    collection: Type.Enum(
      ['pipeline_destinations', 'pipeline_frontend_apps', 'pipeline_import_apps'],
      { description: 'What it is for.' },
    ),
    plugin_type: Type.Enum(['custom', 'local', 'source', 'inline'], {
      description:
        '`custom`: the package at `url`. `local`: the folder `name` of the plugin directory of ' +
        'the server. `source`, `inline`: the code in `source`.',
    }),
    url,
    name,
    description,
    icon,
    tag,
    is_global,
    source: Type.Optional(
      Type.Record(Type.String(), Type.String(), {
        description: 'Of `source` and `inline`: file name -> its text; others are deleted.',
      }),
    ),
    content_sha256: Type.Optional(
      Type.String({
        pattern: '^[0-9a-f]{64}$',
        description: 'The SHA-256 of all files: another content is refused.',
      }),
    ),
  }),
  identity: 'url',
  fixed: ['collection', 'plugin_type', 'url'],
  defaults: { name: null, description: null, icon: null, tag: null, is_global: false, source: {} },
  secretPaths: ({ url: address }) => (hasToken(address) ? ['url'] : []),
  maySealAt: (path) => path === 'url',
  takesTextAt: (path) => path.startsWith('source.'),
  read: async (reading) =>
    (await listPluginSettings(reading.db, reading.organization_id)).map((row) =>
      standingOf(reading, row),
    ),
  create: (home, { source, content_sha256: _asked, collection, ...body }) => {
    const list = plugin.listUrl(home, { collection });
    return [
      { method: 'POST', url: list, body },
      ...(source === undefined
        ? []
        : [{ method: 'PATCH', url: `${list}:id/update_source/`, body: { source } } as Request]),
    ];
  },
  change: (home, standing, wanted) => {
    const own = recordUrl(plugin, home, standing);
    const { fields } = standing;
    const { source, tag: version } = wanted;
    const isWritten = written_types.includes(String(fields['plugin_type']));
    const shown = pick(wanted, ['is_global', ...(isWritten ? [...written_fields, 'tag'] : [])]);
    return [
      ...(!isWritten && version !== undefined && version !== fields['tag']
        ? [{ method: 'POST', url: `${own}upgrade/`, body: { tag: version } } as Request]
        : []),
      ...(isWritten && source !== undefined
        ? [{ method: 'PUT', url: `${own}update_source/`, body: { ...shown, source } } as Request]
        : [{ method: 'PATCH', url: own, body: shown } as Request]),
    ];
  },
  faultAfter: async (db, id, { content_sha256: wanted }) => {
    if (wanted === undefined) return undefined;
    const { content_sha256 = null } = (await findContent(db, Number(id))) ?? {};
    if (content_sha256 === wanted) return undefined;
    return {
      attr: 'content_sha256',
      code: 'invalid_input',
      detail: `The content has the SHA-256 ${content_sha256 ?? 'of nothing'}: see what changed.`,
    };
  },
  activityScope: ({ collection }) => String(collection).replace(/s$/, ''),
};

function hasToken(address: unknown): boolean {
  return typeof address === 'string' && address.includes('private_token=');
}

function standingOf({ deps }: Reading, row: PluginSettings): Standing {
  const { origin, source, plugin_type, content_sha256, ...shown } = row;
  const from =
    origin === null
      ? undefined
      : (JSON.parse(
          deps.secrets.open(origin, pluginOriginContext(row.id)),
        ) as Partial<PluginSource> & { url?: string; folder?: string });
  const isWritten = origin === null;
  return {
    id: String(row.id),
    parent_id: '',
    name: row.name,
    fields: {
      ...pick(shown, ['collection', 'tag', 'is_global', ...(isWritten ? written_fields : [])]),
      // What came from the catalogue is the package that its entry names.
      plugin_type: plugin_type === 'repository' ? 'custom' : plugin_type,
      ...(from?.folder === undefined ? {} : { name: from.folder }),
      ...(from?.url === undefined || hasToken(from.url) ? {} : { url: from.url }),
      ...(isWritten && source !== null ? { source } : {}),
      ...(content_sha256 === null ? {} : { content_sha256 }),
    },
    secrets: hasToken(from?.url) ? { url: from!.url } : {},
  };
}
