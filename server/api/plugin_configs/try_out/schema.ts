import { Type } from 'typebox';
import type { Static } from 'typebox';
import { plugin_collections } from '../../../engine/plugins/plugin.ts';
import { nullable } from '../../../platform/nullable.ts';
import { flag, instant, text, titled, uuid, whole } from '../../../platform/http/schemas.ts';
import { PluginConfigPatch } from '../schema.ts';

/** An object of any kind. */
export const anything = (description: string) =>
  Type.Unsafe<Record<string, unknown>>({
    type: 'object',
    additionalProperties: true,
    description,
  });

const { config, allowed_hosts } = PluginConfigPatch.properties;

/** Body of `try_out/`. */
export const PluginTryOut = Type.Object({
  collection: Type.Enum([...plugin_collections], {
    description: 'The kind of plugin, which decides what the code must do.',
  }),
  source: Type.Unsafe<Record<string, string>>({
    type: 'object',
    additionalProperties: { type: 'string' },
    description: 'All files of the plugin: file name -> its text.',
  }),
  config,
  allowed_hosts,
  event_uuid: Type.Optional(uuid('A stored event of the project, which the plugin gets.')),
  event: Type.Optional(
    Type.Object(
      {
        event: Type.String({ minLength: 1, maxLength: 400 }),
        distinct_id: Type.String({ minLength: 1, maxLength: 400 }),
        uuid: Type.Optional(uuid()),
        timestamp: Type.Optional(instant()),
        properties: Type.Optional(anything('The properties of the event.')),
        person: Type.Optional(
          Type.Object({
            id: Type.Optional(uuid()),
            properties: Type.Optional(anything('The properties of the person.')),
          }),
        ),
      },
      { description: 'The event that the plugin gets, unless it is a stored one.' },
    ),
  ),
  task: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 200,
      description: 'Runs this scheduled task instead. Default of an import app: its first task.',
    }),
  ),
  sends: Type.Optional(
    flag(
      'True: requests of the plugin are sent. Default false: each request is shown, and ' +
        'answered with 200 and `{}`.',
    ),
  ),
});
export type PluginTryOut = Static<typeof PluginTryOut>;

const headers = Type.Unsafe<Record<string, string>>({
  type: 'object',
  additionalProperties: { type: 'string' },
});
const content = Type.Object({
  text: nullable(text('Null: it is not UTF-8 text.')),
  size_bytes: Type.Integer(),
});

/** A call of the plugin in a try-out. */
const TryOutCall = titled('PluginTryOutCall', {
  method: Type.String(),
  milliseconds: Type.Integer(),
  result: nullable(text('Its return value, as JSON text.')),
  error: nullable(
    Type.Object({
      message: Type.String(),
      is_retry: flag('Whether a running plugin would be called again.'),
      file: nullable(Type.String()),
      line: nullable(Type.Integer()),
      column: nullable(Type.Integer()),
    }),
  ),
});

/** A request of the plugin in a try-out. */
const TryOutRequest = titled('PluginTryOutRequest', {
  method: Type.String(),
  url: Type.String(),
  headers,
  body: nullable(content),
  is_sent: Type.Boolean(),
  answer: nullable(Type.Object({ status: Type.Integer(), headers, body: content })),
  error: nullable(text('Why there is no answer.')),
});

/** The answer of `try_out/`. */
export const PluginTryOutResult = titled('PluginTryOutResult', {
  name: nullable(text('The name in its plugin.json.')),
  config_schema: Type.Unsafe<unknown>({
    type: ['object', 'array'],
    items: {},
    description: 'The fields of its settings; empty without a plugin.json.',
  }),
  scheduled_tasks: Type.Array(Type.String()),
  event: nullable(anything('The event as the plugin got it.')),
  calls: Type.Array(TryOutCall, { description: 'In their order; the last one may have failed.' }),
  requests: Type.Array(TryOutRequest),
  refused_hosts: Type.Array(Type.String(), {
    description: 'Hosts that it called and that are not among the `allowed_hosts`.',
  }),
  effects: Type.Array(
    Type.Object({
      kind: Type.Enum(['capture', 'job', 'metric', 'storage']),
      name: Type.String(),
      value: nullable(text('JSON text.')),
    }),
    { description: 'Effects of the plugin in Sluice. None of them is stored.' },
  ),
  logs: Type.Array(
    Type.Object({
      level: Type.Enum(['debug', 'log', 'info', 'warn', 'error']),
      message: Type.String(),
    }),
  ),
  omitted: whole('Number of requests, effects and lines beyond the listed ones.'),
});
export type PluginTryOutResult = Static<typeof PluginTryOutResult>;
