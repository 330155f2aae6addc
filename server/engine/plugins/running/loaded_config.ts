import sql from 'sql-template-tag';
import { fieldsOf } from '../config_schema.ts';
import { PluginError } from '../plugin.ts';
import type { Capabilities, ConfigField } from '../plugin.ts';
import type { HostServices } from '../sandbox/host_services.ts';
import type { LoadedPlugin, PluginAttachment } from '../sandbox/sandbox.ts';
import { loadPluginConfig } from '../stored_config.ts';
import type { StoredPluginConfig } from '../stored_config.ts';
import { loadVersion } from '../versions.ts';
import { openCache } from './cache.ts';
import { captureEvent } from './capture.ts';
import type { Call } from './capture.ts';
import { addJob } from './jobs.ts';
import type { ConfigState, Lease } from './leases.ts';
import { LeaseLostError } from './leases.ts';
import type { LogLevel, PluginLog } from './plugin_log.ts';
import type { Running } from './running.ts';
import { openStorage } from './storage.ts';

/** A config whose plugin is loaded with its settings as of `fingerprint`. One call at a time. */
export type LoadedConfig = {
  fingerprint: string;
  capabilities: Capabilities;
  config: Record<string, unknown>;
  allowed_hosts: string[];
  /** Calls a method of the plugin. `key` names the call and is the same when it is tried again: see `captureEvent`. Throws what the sandbox throws. */
  call(key: string, method: string, payload: unknown, signal: AbortSignal): Promise<unknown>;
  close(): Promise<void>;
};

type Row = StoredPluginConfig & { config_schema: unknown; allowed_hosts: string[] };

const log_levels: Record<Parameters<HostServices['log']>[0], LogLevel> = {
  debug: 'DEBUG',
  log: 'INFO',
  info: 'INFO',
  warn: 'WARNING',
  error: 'ERROR',
};

/**
 * Loads the plugin of a config: the version that was installed, checked against its seal, with the project's settings, and defaults for what they leave out. Throws a PluginError, `refused` for code that is not
 * what was installed; LeaseLostError when the config is gone.
 */
export async function loadConfig(
  running: Running,
  lease: Lease,
  state: ConfigState,
  log: PluginLog,
): Promise<LoadedConfig> {
  const { db, secrets, sandbox } = running;
  const { code } = await loadVersion(db, secrets, state.plugin_id);
  if (code.server === null)
    throw new PluginError('invalid', 'The plugin has no code for the server.');
  const row = await db.row<Row>(sql`
    SELECT c.config, c.config_secrets, c.secret_keys, c.allowed_hosts, p.config_schema FROM plugin_configs c JOIN plugins p ON p.id = c.plugin_id WHERE c.id = ${lease.config_id}`);
  if (row === undefined) throw new LeaseLostError();
  const { config, attachments } = settingsOf(
    fieldsOf(row.config_schema),
    loadPluginConfig(secrets, lease.config_id, row),
  );
  const call: { present: Call } = { present: { key: 'load', captured: new Map() } };
  const plugin: LoadedPlugin = await sandbox.load({
    id: `plugin config ${lease.config_id}`,
    code: code.server,
    config,
    attachments,
    allowed_hosts: row.allowed_hosts,
    host: hostOf(running, lease, state, log, () => call.present),
  });
  return {
    fingerprint: state.fingerprint,
    capabilities: plugin.capabilities,
    config,
    allowed_hosts: row.allowed_hosts,
    call: (key, method, payload, signal) => {
      call.present = { key, captured: new Map() };
      return plugin.call(method, payload, signal);
    },
    close: () => plugin.close(),
  };
}

function hostOf(
  running: Running,
  { config_id, team_id }: Lease,
  { plugin_name }: ConfigState,
  log: PluginLog,
  present: () => Call,
): HostServices {
  const { db, clock, ingestion } = running;
  const capturer = { team_id, config_id, plugin_name: plugin_name ?? `plugin ${config_id}` };
  return {
    storage: openStorage(db, config_id),
    cache: openCache(db, config_id),
    capture: (event) => captureEvent(ingestion, clock, capturer, present(), event),
    log: (level, message) => log.write(log_levels[level], message),
    runJob: (name, payload, delay_ms) => addJob(db, config_id, name, payload, delay_ms),
  };
}

/** The values with the defaults of fields that have none, parted into plain ones and files. */
function settingsOf(
  fields: ConfigField[],
  stored: Record<string, unknown>,
): { config: Record<string, unknown>; attachments: Record<string, PluginAttachment> } {
  // Keys are the package's own words: as entries, none of them means something to an object.
  const config = new Map<string, unknown>();
  const attachments = new Map<string, PluginAttachment>();
  for (const { key, type, default: standard } of fields) {
    const value = (Object.hasOwn(stored, key!) ? stored[key!] : undefined) ?? standard;
    if (value === undefined || value === null) continue;
    if (type !== 'attachment') config.set(key!, value);
    else if (isFile(value))
      attachments.set(key!, { ...value, contents: Buffer.from(value.contents, 'base64') });
  }
  return { config: Object.fromEntries(config), attachments: Object.fromEntries(attachments) };
}

/** A stored file; a package's default for one can be anything. */
function isFile(
  value: unknown,
): value is { file_name: string; content_type: string; contents: string } {
  return (
    typeof value === 'object' &&
    value !== null &&
    'contents' in value &&
    typeof value.contents === 'string'
  );
}
