import { Type } from 'typebox';
import type { Static, TSchema } from 'typebox';
import { tool_categories } from '../../engine/plugins/tools/categories.ts';
import type { ToolDefinition } from '../../engine/plugins/tools/tool.ts';
import type { PluginType } from '../../engine/plugins/plugin.ts';
import { lineOfText } from '../../platform/line_of_text.ts';
import { nullable } from '../../platform/nullable.ts';
import { ManagedBy } from '../managed/schema.ts';
import { PageQuery, pageOf } from '../../platform/http/lists/pagination.ts';
import { flag, text, titled, uuid, whole } from '../../platform/http/schemas.ts';

// The code of `source` and `inline` is written through the API; other plugins have an origin.
const plugin_types = [
  'local',
  'custom',
  'repository',
  'source',
  'inline',
] as const satisfies PluginType[];

/** Any JSON except null, which would be ambiguous. */
const any = (description: string) =>
  Type.Unsafe<unknown>({
    type: ['object', 'array', 'string', 'number', 'boolean'],
    items: {},
    description,
  });

const about = {
  name: 'Name for people; for a package, the name in its plugin.json.',
  tag: 'The installed version.',
};

const fields = {
  plugin_type: nullable(
    Type.Enum([...plugin_types], {
      description:
        '`custom`: a package at `url`. `repository`: an entry of the catalogue ' +
        '(`repository/`), named by `name`. `local`: the folder `name` of the plugin directory ' +
        'of the server. `source`, `inline`: code is sent with `update_source/`. Null or ' +
        'absent: `custom` with a `url`, otherwise `source`.',
    }),
  ),
  name: nullable(text(about.name)),
  description: nullable(Type.String({ maxLength: 65_536, description: 'Purpose.' })),
  icon: nullable(Type.String({ maxLength: 800, description: 'Address of a picture.' })),
  config_schema: any(
    'The fields of its settings: a list of fields, or an object of fields by key.',
  ),
  tag: nullable(text(about.tag)),
  is_global: flag(
    'Every organization of the server may enable it. Setting it needs the plugins access ' +
      'level 9.',
  ),
  capabilities: any(
    'Capabilities of its code: `{methods, jobs, scheduled_tasks}`, read whenever the code changes.',
  ),
  metrics: any('The metrics that its code declares: name -> `sum`, `max` or `min`.'),
  public_jobs: any('The jobs that people may start, with the fields of their payload.'),
};

const record = {
  id: Type.Integer(),
  ...fields,
  url: nullable(text('Where the package comes from, without the query part.')),
  latest_tag: nullable(text('The newest version known; `check_for_updates/` asks for it.')),
  organization_id: nullable(uuid('The organization of the plugin.')),
  organization_name: text('The name of this organization.'),
  managed_by: ManagedBy,
};

/** A plugin in answers. */
export const Plugin = titled('Plugin', record);
/** A plugin as SELECT returns it. */
export type PluginRow = Static<typeof Plugin>;

const optional = {
  plugin_type: Type.Optional(fields.plugin_type),
  name: Type.Optional(nullable(lineOfText(200, about.name, 0))),
  description: Type.Optional(fields.description),
  icon: Type.Optional(fields.icon),
  config_schema: Type.Optional(fields.config_schema),
  tag: Type.Optional(nullable(lineOfText(200, about.tag, 0))),
  is_global: Type.Optional(fields.is_global),
  capabilities: Type.Optional(fields.capabilities),
  metrics: Type.Optional(fields.metrics),
  public_jobs: Type.Optional(fields.public_jobs),
};

/** Body of POST. */
export const PluginCreate = Type.Object({
  ...optional,
  tag: Type.Optional(
    nullable(lineOfText(200, 'Of a package: the version to install; default the newest.', 0)),
  ),
  url: Type.Optional(
    Type.String({
      trim: true,
      minLength: 1,
      maxLength: 800,
      description:
        'For `custom`: an npm package, a GitHub or GitLab repository, or the https address ' +
        'of an archive. `private_token` in its query is stored sealed and never returned.',
    }),
  ),
});
export type PluginCreate = Static<typeof PluginCreate>;

/** Body of PATCH and PUT: only the sent fields change. */
export const PluginPatch = Type.Object(optional);
export type PluginPatch = Static<typeof PluginPatch>;

const files = (description: string) =>
  Type.Unsafe<Record<string, string | null>>({
    type: 'object',
    additionalProperties: { type: ['string', 'null'] },
    description,
  });

/** Body of `update_source/`. File names may also be at the top level. */
export const SourceChange = Type.Object(
  {
    ...optional,
    source: Type.Optional(
      files(
        'File name -> its text; null deletes the file. With PATCH, files that are not named ' +
          'stay; with PUT they go.',
      ),
    ),
  },
  { patternProperties: { '\\.': {} } },
);

/** Body of `upgrade/`: other sent fields are changed after the version was installed. */
export const Upgrade = Type.Object({
  ...optional,
  tag: Type.Optional(nullable(lineOfText(200, 'The version to install; default the newest.'))),
});

/** The answer of `source/` and `update_source/`: the plugin and its files. */
export const PluginWithSource = titled('PluginWithSource', {
  ...record,
  source: Type.Unsafe<Record<string, string>>({
    type: 'object',
    additionalProperties: { type: 'string' },
    description: 'File name -> its text.',
  }),
  has_previous_version: flag('`rollback/` has an earlier version.'),
});

const names = (description: string) => Type.Array(Type.String(), { description });

/** The changes of an upgrade or rollback. */
export const PluginDifferences = titled('PluginDifferences', {
  from_tag: nullable(text('The version before.')),
  to_tag: nullable(text('The version after.')),
  files: Type.Object({
    added: names('Files that come.'),
    removed: names('Files that go.'),
    changed: names('Files whose text differs.'),
  }),
  config_fields: Type.Object({
    added: names('Keys that come.'),
    removed: names('Keys that go.'),
    changed: names('Keys whose field differs.'),
  }),
  capabilities: Type.Object({
    added: names('Additions, such as `methods.onEvent`.'),
    removed: names('What goes.'),
  }),
  line_changes: Type.Array(
    Type.Object({
      file: Type.String(),
      diff: nullable(text('Unified diff; null if it is too long or too different.')),
    }),
    { description: 'The differences in each file that is added, removed or changed.' },
  ),
  incomplete_configs: whole(
    'Number of enabled configs that do not fit this version: they lack a required ' +
      'setting, or have a value that it does not allow. They stay enabled, and their ' +
      '`error` names the setting.',
  ),
});
export type PluginDifferences = Static<typeof PluginDifferences>;

/** The answer of `upgrade/` and `rollback/`: the plugin and the changes. */
export const PluginWithDifferences = titled('PluginWithDifferences', {
  ...record,
  changes: PluginDifferences,
});

/** The description of lists from `besideRecord`. */
export const beside =
  'The answer is the first plugin of the list, and the list. Its fields are null if the list ' +
  'is empty. Needs the plugins access level 3.';

/**
 * A list and the first record that it is about: the record's fields, all null without one, and the
 * list beside them.
 */
export function besideRecord<Item extends TSchema>(item: Item, title: string) {
  const first = Object.fromEntries(
    Object.entries(record).map(([name, schema]) => [name, nullable(schema as TSchema)]),
  );
  return Type.Object({ ...first, ...pageOf(item).properties }, { title });
}

/** Empty fields for a list without a record. */
export const no_record = Object.fromEntries(Object.keys(record).map((name) => [name, null]));

/**
 * The input of an origin: an address, which may contain a token, or the name of a folder in the
 * plugin directory.
 */
export type PluginSource = { url: string } | { folder: string };

const ofCategory = (description: string) => Type.Enum([...tool_categories], { description });

/** An entry of the server's catalogue, which `plugin_type: repository` installs by its name. */
export const CatalogueItem = titled('PluginCatalogueItem', {
  name: Type.String(),
  description: Type.String(),
  url: text('Where the package comes from.'),
  collection: text('The collection of the package.'),
  maintainer: Type.Enum(['official', 'community'], { description: 'Whose it is.' }),
  category: nullable(ofCategory('Purpose of the tool. Null: the entry is no tool.')),
  needs: nullable(
    text(
      'The command by which the operator of the server installs the package that the ' +
        'entry needs. Null: it needs none.',
    ),
  ),
  wants_application: flag(
    'Whether the organization has to register an OAuth application with the vendor ' +
      'before the tool can work.',
  ),
});

/** The content of `destination.json`, the file of a plugin that makes it a tool. */
export type ToolFile = ToolDefinition;
/** A mapping of a tool: an action, its filter, and the fields of its payload. */
export type ToolMapping = ToolFile['presets'][number];

/** The query parameters of the catalogue. */
export const CatalogueQuery = Type.Object({
  ...PageQuery.properties,
  search: Type.Optional(
    Type.String({
      maxLength: 200,
      description: 'Only entries with all of these words in name, description or category.',
    }),
  ),
  category: Type.Optional(ofCategory('Only tools of this category.')),
});

/**
 * Returns why a level of the organization does not suffice, as a sentence; undefined if it does.
 * Levels: 0 nothing, 3 use and configure, 6 install and change, 9 also global records.
 */
export function pluginsLevelFault(level: number, wanted: 3 | 6 | 9): string | undefined {
  if (level >= wanted) return undefined;
  const may = { 3: 'use plugins', 6: 'install or change plugins', 9: 'set is_global' }[wanted];
  return (
    `This organization may not ${may}: that needs the plugins access level ${wanted}, and ` +
    `its level is ${level}. The operator of the server sets it.`
  );
}
