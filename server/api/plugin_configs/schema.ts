import { Type } from 'typebox';
import type { Static } from 'typebox';
import { lineOfText } from '../../platform/line_of_text.ts';
import { nullable } from '../../platform/nullable.ts';
import { queryInstant } from '../../platform/http/lists/query_instant.ts';
import { instant, uuid } from '../../platform/http/schemas.ts';
import { ManagedBy } from '../managed/schema.ts';
import { Plugin } from '../plugins/schema.ts';

/**
 * Host names as a plugin's settings allow them: a name, or `*.` and a name for all names below it.
 * Addresses are names here.
 */
const host = Type.String({
  trim: true,
  minLength: 1,
  maxLength: 253,
  pattern:
    '^(\\*\\.)?[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*$',
  wrong_detail:
    'Must be a host name such as api.example.com, or *.example.com for all names below it; no ' +
    'port, no path.',
});

const fields = {
  enabled: Type.Boolean({
    description:
      'Does it run? From the moment it is enabled, events that come in are its; while it is ' +
      'disabled they are not.',
  }),
  order: Type.Integer({
    minimum: 0,
    maximum: 1_000_000,
    description: 'Where several run one after the other, those with lower numbers come first.',
  }),
  config: Type.Unsafe<Record<string, unknown>>({
    type: 'object',
    additionalProperties: true,
    description:
      "Values by the keys of the plugin's `config_schema`: text, the text of JSON, or " +
      '`{file_name, content_type, contents}` for attachments. Secret ones are never returned.',
  }),
  allowed_hosts: Type.Array(host, {
    maxItems: 100,
    description:
      "Hosts that the plugin's `fetch` may reach; none is reached without being named here.",
  }),
  event_choice: nullable(
    Type.Object(
      {
        subscribe: Type.String({
          minLength: 1,
          maxLength: 10_000,
          description: 'A filter as mappings of tools have it; `type != ""` lets all through.',
        }),
        sample_percent: Type.Optional(
          Type.Number({
            exclusiveMinimum: 0,
            maximum: 100,
            description: 'The share of persons whose events it gets, always the same ones.',
          }),
        ),
        consent: Type.Optional(
          Type.String({
            minLength: 1,
            maxLength: 200,
            description: 'The category of consent that an event must have.',
          }),
        ),
      },
      {
        description:
          'Which events a destination of code gets; null: all. A tool of the catalogue has this ' +
          'in its mappings.',
      },
    ),
  ),
};

const version = {
  tag: nullable(Type.String({ description: 'Its name; null: it has none.' })),
  content_sha256: Type.String({ description: 'The SHA-256 of its files.' }),
  installed_at: instant('When the organization of the plugin installed or wrote it.'),
};

/** A plugin as one project uses it, as every answer shows it. */
export const PluginConfig = Type.Object(
  {
    id: Type.Integer(),
    plugin: Type.Integer({ description: 'Id of the plugin.' }),
    plugin_info: Plugin,
    team_id: Type.Integer({ description: 'Id of the project.' }),
    ...fields,
    secret_keys: Type.Array(Type.String(), {
      description: 'Keys of `config` that have a secret value.',
    }),
    uses_oauth: Type.Boolean({
      description: 'The plugin is a tool that uses OAuth: `oauth/` has its state.',
    }),
    error: nullable(
      Type.Object(
        { message: Type.String(), at: instant() },
        {
          description:
            'Why it was stopped, which settings it lacks after a change of the plugin, or ' +
            'which host it waits for. Null without an error.',
        },
      ),
    ),
    accepted_version: nullable(
      Type.Object(version, {
        description:
          'Of a plugin of another organization: the version that runs here. It is the one that ' +
          'the plugin had when it was first enabled, or the one that was accepted last. Null: ' +
          "the plugin's present version runs.",
      }),
    ),
    waiting_version: nullable(
      Type.Object(version, {
        description:
          'The present version of the plugin, where its organization has changed code or ' +
          'settings since; it runs once `accept_version/` is called. Null: nothing waits.',
      }),
    ),
    created_at: instant(),
    updated_at: instant(),
    managed_by: ManagedBy,
  },
  { title: 'PluginConfig' },
);
/** A config's row as SELECT gives it. */
export type PluginConfigRow = Static<typeof PluginConfig>;

const optional = {
  enabled: Type.Optional(fields.enabled),
  order: Type.Optional(fields.order),
  config: Type.Optional(fields.config),
  allowed_hosts: Type.Optional(fields.allowed_hosts),
  event_choice: Type.Optional(fields.event_choice),
};

/** Body of POST. */
export const PluginConfigCreate = Type.Object({
  plugin: Type.Integer({
    minimum: 1,
    maximum: 2_147_483_647,
    description: 'Id of a plugin of the organization, or of a global one.',
  }),
  ...optional,
});

/** Body of PATCH and PUT; the plugin of a config stays. */
export const PluginConfigPatch = Type.Object(optional);
export type PluginConfigPatch = Static<typeof PluginConfigPatch>;

/** The query parameters of `logs/`. */
export const PluginLogQuery = Type.Object({
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      description: 'Number of lines per page; default 100, more than 1000 is served as 1000.',
    }),
  ),
  offset: Type.Optional(
    Type.Integer({
      minimum: 0,
      description: 'Number of lines to skip; default 0.',
    }),
  ),
  level: Type.Optional(
    Type.Enum(['DEBUG', 'INFO', 'WARNING', 'ERROR'], { description: 'Only lines of this level.' }),
  ),
  after: Type.Optional(queryInstant('Only lines written after this instant.')),
  before: Type.Optional(queryInstant('Only lines written before this instant.')),
});
export type PluginLogQuery = Static<typeof PluginLogQuery>;

/** One line that a plugin wrote, or that the server wrote about it. */
export const PluginLogEntry = Type.Object(
  {
    timestamp: instant(),
    level: Type.Enum(['DEBUG', 'INFO', 'WARNING', 'ERROR']),
    message: Type.String(),
  },
  { title: 'PluginLogEntry' },
);
/** A line's row as SELECT gives it. */
export type PluginLogRow = Static<typeof PluginLogEntry>;

/** One number that a plugin counts. */
export const PluginMetric = Type.Object(
  {
    name: Type.String(),
    operation: Type.Enum(['sum', 'max', 'min'], {
      description: 'How the numbers that the plugin gives come together.',
    }),
    value: Type.Number(),
    updated_at: instant(),
  },
  { title: 'PluginMetric' },
);
/** A metric's row as SELECT gives it. */
export type PluginMetricRow = Static<typeof PluginMetric>;

const payload = Type.Unsafe<Record<string, unknown>>({
  type: 'object',
  additionalProperties: true,
  description:
    "Values by the fields of the job's `payload` in `public_jobs`; days and instants are ISO " +
    '8601 text, a `daterange` is a list of two.',
});

/** Body of `jobs/`. */
export const PluginJobStart = Type.Object({
  name: lineOfText({
    minLength: 1,
    maxLength: 200,
    description: "A name of the plugin's `public_jobs`.",
  }),
  payload: Type.Optional(payload),
});

/** A job that a person started, as it waits. */
export const PluginJob = Type.Object(
  {
    id: uuid('The log names it.'),
    name: Type.String(),
    payload,
    created_at: instant(),
  },
  { title: 'PluginJob' },
);
/** A job's row as SELECT gives it. */
export type PluginJobRow = Static<typeof PluginJob>;
