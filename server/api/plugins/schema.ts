import { Type } from 'typebox';
import type { Static, TSchema } from 'typebox';
import { tool_categories } from '../../engine/plugins/tools/categories.ts';
import type { ToolDefinition } from '../../engine/plugins/tools/tool.ts';
import type { PluginType } from '../../engine/plugins/plugin.ts';
import { lineOfText } from '../../platform/line_of_text.ts';
import { nullable } from '../../platform/nullable.ts';
import { ManagedBy } from '../managed/schema.ts';
import { PageQuery, pageOf } from '../../platform/http/lists/pagination.ts';
import { uuid } from '../../platform/http/schemas.ts';

// The code of `source` and `inline` is written through the API; that of the others comes from an
// origin.
const plugin_types = [
  'local',
  'custom',
  'repository',
  'source',
  'inline',
] as const satisfies PluginType[];

/** Any JSON but null, which would say neither that there is something nor that there is nothing. */
const any = (description: string) =>
  Type.Unsafe<unknown>({
    type: ['object', 'array', 'string', 'number', 'boolean'],
    items: {},
    description,
  });

const about = {
  name: 'Name for people; for a package, the name in its plugin.json.',
  tag: 'The version that is installed.',
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
  name: nullable(Type.String({ description: about.name })),
  description: nullable(Type.String({ maxLength: 65_536, description: 'Purpose.' })),
  icon: nullable(Type.String({ maxLength: 800, description: 'Address of a picture.' })),
  config_schema: any(
    'The fields of its settings: a list of fields, or an object of fields by key.',
  ),
  tag: nullable(Type.String({ description: about.tag })),
  is_global: Type.Boolean({
    description:
      'Every organization of the server may enable it. Setting it needs the plugins access ' +
      'level 9.',
  }),
  capabilities: any(
    'Capabilities of its code: `{methods, jobs, scheduled_tasks}`. Sluice reads them whenever ' +
      'the code changes.',
  ),
  metrics: any('The metrics that its code declares: name -> `sum`, `max` or `min`.'),
  public_jobs: any('The jobs that people may start, with the fields of their payload.'),
};

const record = {
  id: Type.Integer(),
  ...fields,
  url: nullable(
    Type.String({ description: 'Where the package comes from, without the query part.' }),
  ),
  latest_tag: nullable(
    Type.String({ description: 'The newest version known; `check_for_updates/` asks for it.' }),
  ),
  organization_id: nullable(uuid('The organization that it belongs to.')),
  organization_name: Type.String({ description: 'The name of that organization.' }),
  managed_by: ManagedBy,
};

/** A plugin as every answer shows it. */
export const Plugin = Type.Object(record, { title: 'Plugin' });
/** A plugin's row as SELECT gives it. */
export type PluginRow = Static<typeof Plugin>;

const optional = {
  plugin_type: Type.Optional(fields.plugin_type),
  name: Type.Optional(nullable(lineOfText({ maxLength: 200, description: about.name }))),
  description: Type.Optional(fields.description),
  icon: Type.Optional(fields.icon),
  config_schema: Type.Optional(fields.config_schema),
  tag: Type.Optional(nullable(lineOfText({ maxLength: 200, description: about.tag }))),
  is_global: Type.Optional(fields.is_global),
  capabilities: Type.Optional(fields.capabilities),
  metrics: Type.Optional(fields.metrics),
  public_jobs: Type.Optional(fields.public_jobs),
};

/** Body of POST. */
export const PluginCreate = Type.Object({
  ...optional,
  tag: Type.Optional(
    nullable(
      lineOfText({
        maxLength: 200,
        description: 'Of a package: the version to install; default the newest.',
      }),
    ),
  ),
  url: Type.Optional(
    Type.String({
      trim: true,
      minLength: 1,
      maxLength: 800,
      description:
        'Of `custom`: an npm package, a GitHub or GitLab repository, or the https address of ' +
        'an archive. `private_token` in its query is kept sealed and never comes back.',
    }),
  ),
});
export type PluginCreate = Static<typeof PluginCreate>;

/** Body of PATCH and PUT: only what is sent is changed. */
export const PluginPatch = Type.Object(optional);
export type PluginPatch = Static<typeof PluginPatch>;

const files = (description: string) =>
  Type.Unsafe<Record<string, string | null>>({
    type: 'object',
    additionalProperties: { type: ['string', 'null'] },
    description,
  });

/** Body of `update_source/`. File names may also stand at the top level. */
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

/** Body of `upgrade/`: what else is sent is changed after the version is installed. */
export const Upgrade = Type.Object({
  ...optional,
  tag: Type.Optional(
    nullable(
      lineOfText({
        minLength: 1,
        maxLength: 200,
        description: 'The version to install; default the newest.',
      }),
    ),
  ),
});

/** The answer of `source/` and `update_source/`: the plugin with its files beside it. */
export const PluginWithSource = Type.Object(
  {
    ...record,
    source: Type.Unsafe<Record<string, string>>({
      type: 'object',
      additionalProperties: { type: 'string' },
      description: 'File name -> its text.',
    }),
    has_previous_version: Type.Boolean({ description: 'There is code for `rollback/`.' }),
  },
  { title: 'PluginWithSource' },
);

const names = (description: string) => Type.Array(Type.String(), { description });

/** The changes of an upgrade or rollback. */
export const PluginDifferences = Type.Object(
  {
    from_tag: nullable(Type.String({ description: 'The version before.' })),
    to_tag: nullable(Type.String({ description: 'The version after.' })),
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
      added: names('What comes, as `methods.onEvent`.'),
      removed: names('What goes.'),
    }),
    line_changes: Type.Array(
      Type.Object({
        file: Type.String(),
        diff: nullable(
          Type.String({ description: 'In the unified form; null: it is too long, or too other.' }),
        ),
      }),
      { description: 'What differs in each file that comes, goes or changes.' },
    ),
    incomplete_configs: Type.Integer({
      description:
        'How many enabled configs do not fit this version: they lack a setting that it needs, or ' +
        'have a value that it does not take. They stay enabled, and their `error` says which.',
    }),
  },
  { title: 'PluginDifferences' },
);
export type PluginDifferences = Static<typeof PluginDifferences>;

/** The answer of `upgrade/` and `rollback/`: the plugin with what was changed beside it. */
export const PluginWithDifferences = Type.Object(
  { ...record, changes: PluginDifferences },
  { title: 'PluginWithDifferences' },
);

/** Describes lists that `besideRecord` makes. */
export const beside =
  'The answer is the first plugin of the list, with the list beside it. Its fields are null if ' +
  'the list is empty. Needs the plugins access level 3.';

/**
 * A list with the first record that it is about in front: the record's fields, all null when there
 * is none, and the list beside them.
 */
export function besideRecord<Item extends TSchema>(item: Item, title: string) {
  const first = Object.fromEntries(
    Object.entries(record).map(([name, schema]) => [name, nullable(schema as TSchema)]),
  );
  return Type.Object({ ...first, ...pageOf(item).properties }, { title });
}

/** Neutral fields beside a list that concerns no record. */
export const no_record = Object.fromEntries(Object.keys(record).map((name) => [name, null]));

/**
 * The input of an origin: an address, which may hold a token, or the name of a folder of the plugin
 * directory.
 */
export type PluginSource = { url: string } | { folder: string };

const ofCategory = (description: string) => Type.Enum([...tool_categories], { description });

/** An entry of the server's catalogue: what `plugin_type: repository` installs by its name. */
export const CatalogueItem = Type.Object(
  {
    name: Type.String(),
    description: Type.String(),
    url: Type.String({ description: 'Where the package comes from.' }),
    collection: Type.String({ description: 'The collection that it is for.' }),
    maintainer: Type.Enum(['official', 'community'], { description: 'Whose it is.' }),
    category: nullable(ofCategory('What the tool is for. Null: the entry is no tool.')),
    needs: nullable(
      Type.String({
        description:
          'The command by which the operator of the server installs what the entry needs. Null: ' +
          'nothing is missing.',
      }),
    ),
    wants_application: Type.Boolean({
      description:
        'Whether the tool works only after the organization has registered an OAuth application ' +
        'with its vendor, and it has not yet.',
    }),
  },
  { title: 'PluginCatalogueItem' },
);

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
 * Why a level of the organization does not suffice, as a sentence; undefined: it does. 0 nothing, 3
 * use and configure, 6 install and change, 9 also global records.
 */
export function pluginsLevelFault(level: number, wanted: 3 | 6 | 9): string | undefined {
  if (level >= wanted) return undefined;
  const may = { 3: 'use plugins', 6: 'install or change plugins', 9: 'set is_global' }[wanted];
  return (
    `This organization may not ${may}: that needs the plugins access level ${wanted}, its own ` +
    `is ${level}. The operator of the server sets it.`
  );
}
