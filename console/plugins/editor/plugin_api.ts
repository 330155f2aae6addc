import type { Collection } from '../plugins.ts';

/** A name that a plugin may export or use, with its explanation in the editor. */
export type ApiName = {
  /** Exported for Sluice, a part of `meta`, or a global name. */
  kind: 'export' | 'meta' | 'global';
  name: string;
  signature: string;
  meaning: string;
};

const named =
  (kind: ApiName['kind']) =>
  ([name, signature, meaning]: readonly [string, string, string]): ApiName => ({
    kind,
    name,
    signature,
    meaning,
  });

const event_exports = [
  ['onEvent', '(event, meta)', 'Gets each event. Sluice ignores what it returns.'],
  ['exportEvents', '(events, meta)', 'Gets batches of up to 500 events and 1 MiB.'],
  [
    'composeWebhook',
    '(event, meta) => { url, method, headers, body } | null',
    'Returns a request that Sluice sends; null for none.',
  ],
  [
    'processEvent',
    '(event, meta) => event | null',
    'Runs first. The other functions get what it returns; null drops the event.',
  ],
] as const;
const tasks = [
  ['runEveryMinute', '(meta)', 'Runs every minute.'],
  ['runEveryHour', '(meta)', 'Runs every hour.'],
  ['runEveryDay', '(meta)', 'Runs every day (UTC).'],
] as const;
const common_exports = [
  ['setupPlugin', '(meta)', 'Runs when the plugin is loaded, and again after an error.'],
  ['teardownPlugin', '(meta)', 'Runs when the plugin is unloaded.'],
  ['jobs', '{ name: (payload, meta) => ... }', 'Jobs that the plugin starts for later.'],
  ['metrics', "{ name: 'sum' | 'max' | 'min' }", 'Numbers that the plugin counts.'],
] as const;
const site_exports = [
  ['inject', '({ config, sluice })', 'Runs on each page. `config` has only fields with `site`.'],
] as const;

const meta = [
  ['config', 'Record<string, unknown>', 'The settings of the project, secrets included.'],
  ['attachments', '{ key: { file_name, content_type, contents } }', 'The files of the settings.'],
  ['global', 'object', 'An object of your own, until the plugin is unloaded.'],
  ['storage.get', '(key, fallback?) => Promise<JSON>', 'Reads a stored value.'],
  ['storage.set', '(key, value) => Promise', 'Stores a value permanently.'],
  ['storage.del', '(key) => Promise', 'Deletes a stored value.'],
  ['cache.get', '(key, fallback?) => Promise<JSON>', 'Reads a value that may be missing.'],
  ['cache.set', '(key, value, seconds?) => Promise', 'Stores a value for a while.'],
  ['cache.incr', '(key) => Promise<number>', 'Increments a number, safely for overlapping calls.'],
  ['cache.expire', '(key, seconds) => Promise<boolean>', 'Sets how long a value is kept.'],
  ['cache.lpush', '(key, values) => Promise<number>', 'Prepends values to a list.'],
  ['cache.lrange', '(key, first, last) => Promise<JSON[]>', 'Reads a part of a list.'],
  ['cache.llen', '(key) => Promise<number>', 'Reads the length of a list.'],
  ['cache.lrem', '(key, count, value) => Promise<number>', 'Removes a value from a list.'],
  ['cache.lpop', '(key, count?) => Promise<JSON[]>', 'Takes values from the start of a list.'],
  ['utils.cursor.init', '(key, value?) => Promise', 'Starts a counter in the cache.'],
  ['utils.cursor.increment', '(key, by?) => Promise<number>', 'Counts on.'],
] as const;

const globals = [
  ['fetch', '(url, init?) => Promise<Response>', 'Can only reach the allowed hosts.'],
  ['sluice.capture', '(event, properties?) => Promise', 'Adds an event to the project.'],
  ['sluice.api.get', '(path, options?) => Promise<Response>', 'Calls an API like this one.'],
  ['RetryError', 'new (message)', 'Throw it if the same call can succeed later.'],
  ['console.log', '(...values)', 'Writes to the log of the plugin.'],
  ['setTimeout', '(then, milliseconds)', 'Waits during a call.'],
  ['Buffer.from', '(text, encoding?) => Buffer', 'The bytes of a text.'],
  ['URL', 'new (url, base?)', 'Reads an address.'],
  ['URLSearchParams', 'new (values?)', 'Parses and builds a query string.'],
] as const;

/** Returns the names that code of a collection may export and use. */
export function pluginApi(collection: Collection): ApiName[] {
  if (collection === 'pipeline_frontend_apps') return site_exports.map(named('export'));
  const first = collection === 'pipeline_destinations' ? [...event_exports, ...tasks] : tasks;
  return [
    ...[...first, ...common_exports].map(named('export')),
    ...meta.map(named('meta')),
    ...globals.map(named('global')),
  ];
}
