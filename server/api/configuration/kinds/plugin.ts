import { isDeepStrictEqual } from 'node:util';
import { Type } from 'typebox';
import type { Fields } from '../../../platform/fields.ts';
import { PluginCreate } from '../../plugins/schema.ts';
import { findContent, listPluginSettings, pluginOriginContext } from '../../plugins/store.ts';
import type { PluginSource } from '../../plugins/schema.ts';
import type { PluginSettings } from '../../plugins/store.ts';
import { pick, plain_kind, recordUrl } from './kind.ts';
import type { Kind, Reading, Request, Standing } from './kind.ts';

const { name, description, icon, config_schema, tag, is_global, url } = PluginCreate.properties;
/** Fields of a plugin whose code is in the configuration; a package's plugin.json defines them. */
const written_fields = ['name', 'description', 'icon', 'config_schema'];
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
      { description: 'Purpose.' },
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
    config_schema,
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
        description: 'The SHA-256 of all files: other content is refused.',
      }),
    ),
  }),
  identity: 'url',
  fixed: ['collection', 'plugin_type', 'url'],
  defaults: {
    name: null,
    description: null,
    icon: null,
    config_schema: {},
    tag: null,
    is_global: false,
    source: {},
  },
  secretPaths: ({ url: address }) => (hasToken(address) ? ['url'] : []),
  maySealAt: (path) => path === 'url',
  takesTextAt: (path) => path.startsWith('source.'),
  shortened: (fields) => {
    const told = toldBySource(fields);
    const own = Object.entries(fields).filter(
      ([field, value]) => !Object.hasOwn(told, field) || !isDeepStrictEqual(value, told[field]),
    );
    return Object.fromEntries(own);
  },
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
      ...afterSource(`${list}:id/`, source, pick(body, written_fields)),
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
        ? [
            { method: 'PUT', url: `${own}update_source/`, body: { ...shown, source } } as Request,
            ...afterSource(own, source, pick(wanted, written_fields)),
          ]
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
  // The log contains only the hash of the code.
  recordedAs: (field) => (/^source(?:\.|$)/.test(field) ? 'content_sha256' : field),
  activityScope: ({ collection }) => String(collection).replace(/s$/, ''),
};

/** Returns the fields that the plugin.json of a source sets; none without the file. */
function toldBySource({ source }: Fields): Fields {
  try {
    const { 'plugin.json': text = '' } = source as Record<string, string>;
    const { name, description = null, icon = null, config = [] } = JSON.parse(text) as Fields;
    return { name, description, icon, config_schema: config };
  } catch {
    return {};
  }
}

/** The fields in the files take precedence over the plugin.json of new code. */
function afterSource(own: string, source: unknown, fields: Fields): Request[] {
  const told = toldBySource({ source });
  const other = Object.keys(told).filter((field) => !isDeepStrictEqual(fields[field], told[field]));
  const body = pick(fields, other);
  return Object.keys(body).length === 0 ? [] : [{ method: 'PATCH', url: own, body }];
}

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
      // A plugin from the catalogue counts as the package of its entry.
      plugin_type: plugin_type === 'repository' ? 'custom' : plugin_type,
      ...(from?.folder === undefined ? {} : { name: from.folder }),
      ...(from?.url === undefined || hasToken(from.url) ? {} : { url: from.url }),
      ...(isWritten && source !== null ? { source } : {}),
      ...(content_sha256 === null ? {} : { content_sha256 }),
    },
    secrets: hasToken(from?.url) ? { url: from!.url } : {},
  };
}
