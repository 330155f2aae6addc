import { Type } from 'typebox';
import type { Static } from 'typebox';
import { lineOfText } from '../../platform/line_of_text.ts';
import { nullable } from '../../platform/nullable.ts';
import { queryInstant } from '../../platform/http/lists/query_instant.ts';
import { flag, instant, text, titled, uuid, whole } from '../../platform/http/schemas.ts';
import { ManagedBy } from '../managed/schema.ts';
import { Plugin } from '../plugins/schema.ts';

/**
 * Allowed host names in a plugin's settings: a name, or `*.` and a name for all names below it. IP
 * addresses count as names here.
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
  enabled: flag(
    'Does it run? The plugin gets the events that arrive while its config is enabled, and no ' +
      'others.',
  ),
  order: Type.Integer({
    minimum: 0,
    maximum: 1_000_000,
    description: 'Plugins with lower numbers run first.',
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
    description: "The only hosts that the plugin's `fetch` may reach.",
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
            description: 'The share of persons whose events it gets; always the same persons.',
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
  tag: nullable(text('Its name; null: it has none.')),
  content_sha256: text('The SHA-256 of its files.'),
  installed_at: instant("When the plugin's organization installed or wrote it."),
};

/** A plugin in a project, in answers. */
export const PluginConfig = titled('PluginConfig', {
  id: Type.Integer(),
  plugin: whole('Id of the plugin.'),
  plugin_info: Plugin,
  team_id: whole('Id of the project.'),
  ...fields,
  secret_keys: Type.Array(Type.String(), {
    description: 'Keys of stored secrets in `config`.',
  }),
  uses_oauth: flag('True for a tool that uses OAuth: `oauth/` has its state.'),
  error: nullable(
    Type.Object(
      { message: Type.String(), at: instant() },
      {
        description:
          'Why it was stopped, which settings are missing after a change of the plugin, or ' +
          'which host it waits for. Null without an error.',
      },
    ),
  ),
  accepted_version: nullable(
    Type.Object(version, {
      description:
        'Of a plugin of another organization: the version that runs here. It is the ' +
        'version from when the plugin was first enabled, or the version accepted last. ' +
        "Null: the plugin's current version runs.",
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
});
/** A config as SELECT returns it. */
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

/** Body of PATCH and PUT; the plugin of a config cannot change. */
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
    Type.Enum(['DEBUG', 'INFO', 'WARNING', 'ERROR'], {
      description: 'Only lines with this level.',
    }),
  ),
  after: Type.Optional(queryInstant('Only lines written after this instant.')),
  before: Type.Optional(queryInstant('Only lines written before this instant.')),
});
export type PluginLogQuery = Static<typeof PluginLogQuery>;

/** A line of the log, by a plugin or by the server about it. */
export const PluginLogEntry = titled('PluginLogEntry', {
  timestamp: instant(),
  level: Type.Enum(['DEBUG', 'INFO', 'WARNING', 'ERROR']),
  message: Type.String(),
});
/** A line of the log as SELECT returns it. */
export type PluginLogRow = Static<typeof PluginLogEntry>;

/** A metric of a plugin. */
export const PluginMetric = titled('PluginMetric', {
  name: Type.String(),
  operation: Type.Enum(['sum', 'max', 'min'], {
    description: 'How its numbers are combined.',
  }),
  value: Type.Number(),
  updated_at: instant(),
});
const payload = Type.Unsafe<Record<string, unknown>>({
  type: 'object',
  additionalProperties: true,
  description:
    "Values by the fields of the job's `payload` in `public_jobs`; days and instants are ISO " +
    '8601 text, a `daterange` is a list of two.',
});

/** Body of `jobs/`. */
export const PluginJobStart = Type.Object({
  name: lineOfText(200, "A name in the plugin's `public_jobs`."),
  payload: Type.Optional(payload),
});

/** A waiting job that a person started. */
export const PluginJob = titled('PluginJob', {
  id: uuid('Id of the job in the log.'),
  name: Type.String(),
  payload,
  created_at: instant(),
});
/** A job as SELECT returns it. */
export type PluginJobRow = Static<typeof PluginJob>;
