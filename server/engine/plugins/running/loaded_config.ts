import sql from 'sql-template-tag';
import { fieldsOf } from '../config_schema.ts';
import { PluginError } from '../plugin.ts';
import type { ConfigField, PluginCollection } from '../plugin.ts';
import { readCode } from '../sandbox/fault.ts';
import type { HostServices } from '../sandbox/host_services.ts';
import { calls_max } from '../sandbox/limits.ts';
import type { LoadedPlugin, PluginAttachment } from '../sandbox/sandbox.ts';
import { withTokens } from '../oauth/tokens.ts';
import type { ToolCall } from '../oauth/tokens.ts';
import { toolOf } from '../tools/tool.ts';
import type { ToolDefinition } from '../tools/tool.ts';
import type { EventChoice } from '../tools/wanted.ts';
import { openDeliveryPoints } from '../trace/delivery_points.ts';
import type { DeliveryPoints } from '../trace/delivery_points.ts';
import { run_config_schema } from '../run_version.ts';
import { loadPluginConfig } from '../stored_config.ts';
import type { StoredPluginConfig } from '../stored_config.ts';
import { loadConfigVersion } from '../versions.ts';
import { openCache } from './cache.ts';
import { captureEvent, sourcesOf } from './capture.ts';
import type { Call } from './capture.ts';
import { openLoadedCode } from './code/loaded_code.ts';
import { addJob } from './jobs.ts';
import type { LoadedConfig } from './loaded_plugin.ts';
import { openLoadedTool, toolPlace } from './loaded_tool.ts';
import type { LoadedTool } from './loaded_tool.ts';
import type { ConfigState, Lease } from './leases.ts';
import { LeaseLostError } from './leases.ts';
import { openNeededHosts } from './needed_hosts.ts';
import type { LogLevel, PluginLog } from './plugin_log.ts';
import { openPluginMetrics } from './plugin_metrics.ts';
import type { Running } from './running.ts';
import { openRefusals } from './refusals.ts';
import { findAccount, leaveAccount, takeAccount } from './sending/account.ts';
import { readMemory } from './sending/tool_memory.ts';
import { openStorage } from './storage.ts';

type Row = StoredPluginConfig & {
  config_schema: unknown;
  allowed_hosts: string[];
  organization_id: string;
  collection: PluginCollection;
  /** The events that a destination of code gets; null: all. */
  event_choice: EventChoice | null;
};

const log_levels: Record<Parameters<HostServices['log']>[0], LogLevel> = {
  debug: 'DEBUG',
  log: 'INFO',
  info: 'INFO',
  warn: 'WARNING',
  error: 'ERROR',
};

/**
 * Loads the plugin of a config: the version that it runs, checked against its seal, with the
 * project's settings and defaults. Throws a PluginError, `refused` for code that differs from the
 * installed one; LeaseLostError if the config is gone. From here on, the log masks the secret
 * settings.
 */
export async function loadConfig(
  running: Running,
  lease: Lease,
  state: ConfigState,
  log: PluginLog,
): Promise<LoadedConfig> {
  const { db, sandbox } = running;
  const read = await readConfig(running, lease, log);
  const { version, definition, code, row, settings } = read;
  const beginCall = (key: string, sources?: number[]) => ({ key, captured: new Map(), sources });
  const present: { call: Call } = { call: beginCall('load') };
  const { allowed_hosts } = row;
  const needsHost = await hostsOf(read);
  const refusals = openRefusals(needsHost, log);
  const metrics = await openPluginMetrics(db, running.log, lease.config_id, version.metrics);
  const points = openDeliveryPoints(db, running.log, lease.config_id);
  const call: LoadedConfig['call'] = (key, method, payload, signal, about, noted) => {
    present.call = beginCall(key, about && sourcesOf(about));
    return refusals.during(() => plugin.call(method, payload, signal, noted));
  };
  const tool = await openReceiverOf(running, lease, read, {
    needsHost,
    hide: log.hide,
    call,
    countOf: (name) => countsOf(running, name, definition === undefined ? none : metrics, points),
  });
  const plugin: LoadedPlugin = await refusals.during(() =>
    sandbox.load({
      id: `plugin config ${lease.config_id}`,
      code,
      // A tool gets its settings with each call.
      ...(definition === undefined
        ? settings
        : { config: {}, ...toolPlace(sandbox, definition, row.organization_id) }),
      allowed_hosts,
      host: {
        ...hostOf(running, lease, state, log, () => present.call),
        count: metrics.count,
        refused: refusals.note,
        isNeeded: needsHost,
      },
    }),
  );
  return {
    fingerprint: state.fingerprint,
    capabilities: (definition === undefined ? plugin : version).capabilities,
    config: settings.config,
    allowed_hosts,
    calls_max: captures.test(readCode(code).text) ? 1 : calls_max,
    needsHost,
    tool,
    call,
    saveMetrics: async () => {
      await Promise.all([metrics.flush(), points.flush()]);
    },
    close: () => plugin.close(),
  };
}

/** Code keeps its own counts. */
const none = { count: () => undefined };

/** Opens the delivery of events to a destination; undefined for another plugin. */
async function openReceiverOf(
  running: Running,
  lease: Lease,
  { row, definition, version, settings: { config } }: Awaited<ReturnType<typeof readConfig>>,
  given: Pick<LoadedConfig, 'needsHost' | 'call'> &
    Pick<PluginLog, 'hide'> & { countOf(name: string): LoadedTool['count'] },
): Promise<LoadedTool | undefined> {
  const { needsHost, call, hide, countOf } = given;
  if (row.collection !== 'pipeline_destinations') return undefined;
  if (definition !== undefined)
    return openTool(
      running,
      lease,
      { definition, config, row },
      {
        hide,
        call: (...one) => call('tool', ...one),
        count: countOf(definition.directory),
      },
    );
  const { methods } = version.capabilities;
  const { allowed_hosts, event_choice: choice } = row;
  const { outbound } = running;
  const code = { methods, config, allowed_hosts, needsHost, call, outbound, choice };
  return openLoadedCode(code, await readReceiverMemory(running, lease), countOf('code'));
}

/** Reads an earlier worker's state of a delivery. */
async function readReceiverMemory({ db, clock }: Running, { config_id }: Lease) {
  return { ...(await readMemory(db, config_id)), now: () => clock.now() };
}

/** Opens the tool of a config, with its stored state and the tokens of its account. */
async function openTool(
  running: Running,
  lease: Lease,
  {
    definition,
    config,
    row,
  }: { definition: ToolDefinition; config: Record<string, unknown>; row: Row },
  given: { hide: PluginLog['hide']; call: ToolCall; count: LoadedTool['count'] },
): Promise<LoadedTool> {
  const memory = await readReceiverMemory(running, lease);
  const account = { config_id: lease.config_id, tool: definition.directory };
  const call = withTokens({ ...running, hide: given.hide }, account, given.call);
  const { config_id } = lease;
  const shared = await findAccount(running, config_id, row.organization_id, definition, config);
  const { db, worker } = running;
  const pace = shared && (await takeAccount(db, worker, lease, shared));
  if (shared === undefined) await leaveAccount(db, lease);
  return openLoadedTool(definition, config, { ...memory, shared: pace }, call, given.count);
}

/** Counts attempts for a config, and for all configs of its kind in this process. */
function countsOf(
  { clock, metrics: { tool_events, tool_delay_seconds } }: Running,
  tool: string,
  metrics: Pick<Awaited<ReturnType<typeof openPluginMetrics>>, 'count'>,
  points: DeliveryPoints,
): LoadedTool['count'] {
  return (outcome, delay_ms) => {
    metrics.count({ [outcome]: 1 });
    if (outcome !== 'sent_again') points.count(outcome, clock.now(), delay_ms);
    tool_events.inc({ tool, outcome });
    if (delay_ms !== undefined) tool_delay_seconds.observe({ tool }, delay_ms / 1_000);
  };
}

/** Reads the code and the settings of a config; the log masks the secret ones. */
async function readConfig({ db, secrets }: Running, { config_id }: Lease, log: PluginLog) {
  const version = await loadConfigVersion(db, secrets, config_id);
  const code = version.code.server;
  if (code === null) throw new PluginError('invalid', 'The plugin has no code for the server.');
  const row = await db.row<Row>(sql`
    SELECT c.config, c.config_secrets, c.secret_keys, c.allowed_hosts, c.event_choice,
      ${run_config_schema} AS config_schema, t.organization_id, p.collection
    FROM plugin_configs c JOIN plugins p ON p.id = c.plugin_id
      JOIN projects t ON t.id = c.team_id WHERE c.id = ${config_id}`);
  if (row === undefined) throw new LeaseLostError();
  const stored = loadPluginConfig(secrets, config_id, row);
  await log.hide(row.secret_keys.map((key) => stored[key]));
  const settings = settingsOf(fieldsOf(row.config_schema), stored);
  return { version, definition: toolOf(version.files), code, row, settings };
}

/** Returns a function that recognizes the hosts that the plugin needs. */
function hostsOf({ definition, code, settings, row }: Awaited<ReturnType<typeof readConfig>>) {
  return openNeededHosts({
    // The library's code of a tool names more hosts than it requests.
    code: definition === undefined ? code : definition.hosts.join(' '),
    ...settings,
    allowed_hosts: row.allowed_hosts,
  });
}

// The name alone; not as a part of a path, such as /capture/.
const captures = /(?<![\w$/-])capture(?![\w$/-])/;

const events_told_max = 20;

function hostOf(
  running: Running,
  { config_id, team_id }: Lease,
  { plugin_name }: ConfigState,
  log: PluginLog,
  present: () => Call,
): Omit<HostServices, 'count' | 'refused' | 'isNeeded'> {
  const { db, clock, ingestion } = running;
  const capturer = { team_id, config_id, plugin_name: plugin_name ?? `plugin ${config_id}` };
  const told = new Set<string>();
  return {
    storage: openStorage(db, config_id),
    cache: openCache(db, config_id),
    capture: async (event) => {
      if (await captureEvent(ingestion, clock, capturer, present(), event)) return;
      if (told.has(event.event) || told.size >= events_told_max) return;
      told.add(event.event);
      log.write(
        'WARNING',
        `The event "${event.event}" is not captured: it answers an event that this plugin ` +
          'captured itself, which would be an endless loop. Let the plugin ignore its own ' +
          'events.',
      );
    },
    log: (level, message) => log.write(log_levels[level], message),
    runJob: async (name, payload, delay_ms) => {
      await addJob(db, config_id, name, payload, delay_ms);
    },
  };
}

/** Returns the values with defaults for empty fields, split into plain ones and files. */
export function settingsOf(
  fields: ConfigField[],
  stored: Record<string, unknown>,
): { config: Record<string, unknown>; attachments: Record<string, PluginAttachment> } {
  // The package chooses the keys: as entries, they cannot collide with an object's members.
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
